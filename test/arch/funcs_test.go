package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// A function of scripts that doesn't say how many arguments it takes ignores what
// an author thinks it uses: options in the wrong place, for one.
func TestNativeFunctionsSayHowManyArgumentsTheyTake(t *testing.T) {
	functions := 0
	for _, s := range sources(t) {
		if s.isTest() || strings.HasPrefix(s.folder, "test/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			fields := fieldNames(literal)
			if !fields["Name"] || !fields["Do"] {
				return true
			}
			functions++
			if !fields["Args"] {
				t.Errorf("%s: a native.Func without Args: a number, native.NoArgs or native.AnyArgs", s.path)
			}
			return true
		})
	}
	if functions < 30 {
		t.Errorf("%d functions were found", functions)
	}
}

func fieldNames(literal *ast.CompositeLit) map[string]bool {
	names := map[string]bool{}
	for _, e := range literal.Elts {
		if field, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := field.Key.(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
	}
	return names
}
