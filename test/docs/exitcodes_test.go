package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/runtime"
)

// errorTypes are the types of errors that package runtime declares.
func errorTypes(t *testing.T) (all []runtime.ErrorType) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), "../../runtime/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "ErrorType" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, runtime.ErrorType(text))
		}
		return true
	})
	return all
}

// rows are the first and second column of a page's tables.
func rows(t *testing.T, page string) (all [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			all = append(all, [2]string{strings.TrimSpace(cells[1]), cells[2]})
		}
	}
	return all
}

func TestExitCodesPageHasEachErrorType(t *testing.T) {
	types := errorTypes(t)
	if len(types) < 17 {
		t.Fatalf("found %d types", len(types))
	}
	codes := map[runtime.ErrorType]string{}
	for _, row := range rows(t, "../../docs/exit-codes.md") {
		if _, err := strconv.Atoi(row[0]); err != nil {
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(row[1], -1) {
			codes[runtime.ErrorType(m[1])] = row[0]
		}
	}
	for _, of := range types {
		if got, want := codes[of], strconv.Itoa(of.ExitCode()); got != want {
			t.Errorf("%s: the page has the exit code %q, the program %s", of, got, want)
		}
		delete(codes, of)
	}
	if len(codes) > 0 {
		t.Errorf("the page has types that don't exist: %v", codes)
	}
}

// The statuses of the task's page are those of the types.
func TestTaskPageHasEachStatus(t *testing.T) {
	statuses := map[string]string{}
	for _, row := range rows(t, "../../docs/task.md") {
		if first, _, _ := strings.Cut(row[0], ","); len(first) == 3 {
			for _, m := range codeSpan.FindAllStringSubmatch(row[1], -1) {
				statuses[m[1]] = row[0]
			}
		}
	}
	for _, of := range errorTypes(t) {
		if of == runtime.TenantMismatch || of == runtime.HostConfigInvalid {
			continue // not of a task's runs
		}
		if got, want := statuses[string(of)], strconv.Itoa(of.HTTPStatus()); !strings.Contains(got, want) {
			t.Errorf("%s: the page has the status %q, the program %s", of, got, want)
		}
	}
}
