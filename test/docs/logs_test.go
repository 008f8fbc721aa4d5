package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loggers are the folders whose code writes the log of a program.
var loggers = []string{"cmd", "lambda", "runtime/runlog", "task", "native/db/dynamo"}

// logged returns the names of fields and the messages that code logs.
func logged(t *testing.T) (fields, messages map[string]string) {
	t.Helper()
	fields, messages = map[string]string{}, map[string]string{}
	root := os.DirFS("../..")
	for _, folder := range loggers {
		err := fs.WalkDir(root, folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, file)
			if err != nil {
				return err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				method, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				literal, ok := call.Args[0].(*ast.BasicLit)
				of, isName := method.X.(*ast.Ident)
				switch name := method.Sel.Name; {
				case isName && of.Name == "zap" && name == "Error":
					fields["error"] = file
				case !ok || literal.Kind != token.STRING:
				case isName && of.Name == "zap":
					text, _ := strconv.Unquote(literal.Value)
					fields[text] = file
				case slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, name):
					text, _ := strconv.Unquote(literal.Value)
					messages[text] = file
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fields, messages
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// The page lists each field and each message that is logged, and none besides.
func TestLogsPageListsWhatIsLogged(t *testing.T) {
	page, err := os.ReadFile("../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(page), "## Queries")
	documented := map[string]bool{}
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		documented[m[1]] = true
	}
	fields, messages := logged(t)
	if len(fields) < 40 || len(messages) < 30 {
		t.Fatalf("found %d fields and %d messages, want more", len(fields), len(messages))
	}
	known := map[string]bool{
		// Of the encoder, and of messages that aren't literals at the call.
		"timestamp": true, "level": true, "message": true, "logger": true, "run ended": true, "run failed": true,
		"a native call failed in a way that the script may not see": true,
	}
	for _, of := range []map[string]string{fields, messages} {
		for name, file := range of {
			known[name] = true
			if !documented[name] {
				t.Errorf("%s logs %q, which docs/logs.md doesn't list", file, name)
			}
		}
	}
	// The first column of a table, and what stands in the sentence after it, are
	// fields or messages; values are in other columns.
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			if !known[m[1]] {
				t.Errorf("docs/logs.md lists %q, which nothing logs", m[1])
			}
		}
	}
}
