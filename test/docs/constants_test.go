package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// constants are the constants of one package, exported or not, and the defaults
// that it sets for fields, as their source declares them.
type constants map[string]ast.Expr

// parsedConstants has those of each package that was asked for.
var parsedConstants sync.Map

// constantsOf returns the constants of the package in a folder of the repository.
func constantsOf(folder string) (constants, error) {
	if known, ok := parsedConstants.Load(folder); ok {
		return known.(constants), nil
	}
	names, err := fs.Glob(os.DirFS("../.."), path.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no package in %s: %v", folder, err)
	}
	found := constants{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Join("../..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				if n.Tok == token.CONST {
					found.add(n)
				}
			case *ast.CallExpr:
				found.addDefault(n)
			}
			return true
		})
	}
	parsedConstants.Store(folder, found)
	return found, nil
}

func (c constants) add(list *ast.GenDecl) {
	for _, spec := range list.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if i < len(v.Values) {
				c[name.Name] = v.Values[i]
			}
		}
	}
}

// addDefault adds the default of a field, which setDefault(&x.Field, value) sets,
// under the name of the field.
func (c constants) addDefault(call *ast.CallExpr) {
	name, ok := call.Fun.(*ast.Ident)
	if !ok || name.Name != "setDefault" || len(call.Args) != 2 {
		return
	}
	if address, ok := call.Args[0].(*ast.UnaryExpr); ok {
		if field, ok := address.X.(*ast.SelectorExpr); ok {
			c[field.Sel.Name] = call.Args[1]
		}
	}
}

// units are the constants of package time.
var units = map[string]time.Duration{
	"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// value evaluates a constant.
func (c constants) value(name string) (constant.Value, error) {
	e, ok := c[name]
	if !ok {
		return nil, fmt.Errorf("there is no constant %s with a value of its own", name)
	}
	return c.eval(e)
}

func (c constants) eval(e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.ParenExpr:
		return c.eval(e.X)
	case *ast.Ident:
		return c.value(e.Name)
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			return constant.MakeInt64(int64(unit)), nil
		}
	case *ast.CallExpr: // a conversion
		if len(e.Args) == 1 {
			return c.eval(e.Args[0])
		}
	case *ast.BinaryExpr:
		x, err := c.eval(e.X)
		if err != nil {
			return nil, err
		}
		y, err := c.eval(e.Y)
		if err != nil {
			return nil, err
		}
		if e.Op == token.SHL || e.Op == token.SHR {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n)), nil
		}
		op := e.Op
		if op == token.QUO && x.Kind() == constant.Int {
			op = token.QUO_ASSIGN // of whole numbers
		}
		return constant.BinaryOp(x, op, y), nil
	}
	return nil, fmt.Errorf("can't evaluate a %T", e)
}
