// Package arch keeps the architecture: who may import whom, and what a tidy
// file looks like. It parses the files itself.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tidelock-lua/tidelock/"

type layer struct {
	folder  string
	imports []string
	why     string
}

// layers is who may import which packages of ours, by prefix. The first row
// whose folder a file lies in counts. Tests may import anything that doesn't
// make a cycle.
var layers = []layer{
	{"tenant", nil, "who is running is known to everybody, so it knows nobody"},
	{"native/vm", nil, "the machine room stands on gopher-lua alone"},
	{"runtime/nativetest", []string{"native", "runtime", "tenant"}, "runs scripts as a host does"},
	{"native/db/memory", []string{"native", "native/vm", "native/db", "native/lock", "tenant"}, "an engine fills the store and the lock table"},
	{"native/db/sqlite", []string{"native", "native/vm", "native/db", "native/lock", "tenant"}, "an engine fills the store and the lock table"},
	{"native/db/dynamo", []string{"native", "native/vm", "native/db", "native/lock", "tenant"}, "an engine fills the store and the lock table"},
	{"native/db/dbtest", []string{"native", "tenant"}, "one contract for all engines, locks included"},
	{"native/db", []string{"native", "native/vm", "tenant"}, "db and lock don't know each other"},
	{"native/lock/locktest", []string{"native", "native/vm", "native/lock", "tenant"}, "fakes of what the lock needs"},
	{"native/lock", []string{"native", "native/vm", "tenant"}, "db and lock don't know each other"},
	{"native/core", []string{"native", "native/vm", "tenant"}, "a module stands on native"},
	{"native/deadline", []string{"native", "native/vm", "tenant"}, "a module stands on native"},
	{"native/json", []string{"native", "native/vm", "tenant"}, "a module stands on native"},
	{"native/log", []string{"native", "native/vm", "tenant"}, "a module stands on native"},
	{"native/stream", []string{"native", "native/vm", "native/json", "tenant"}, "lines may be JSON"},
	{"native/http", []string{"native", "native/vm", "native/json", "native/stream", "tenant"}, "bodies are streams, and JSON"},
	{"native/sql", []string{"native", "native/vm", "native/json", "native/stream", "tenant"}, "rows are streams of JSON too"},
	{"native", []string{"native/vm", "tenant"}, "what module authors read"},
	{"runtime/lualib", []string{"native/vm", "runtime/lualib"}, "the library of scripts needs the run, nothing native"},
	{"runtime/check", []string{"runtime/compile"}, "looks at sources, runs nothing"},
	{"runtime/compile", nil, "from source to prototype: nothing of ours"},
	{"runtime/fair", []string{"tenant"}, "a queue knows tenants, not what waits"},
	{"runtime", []string{"native", "native/vm", "native/core", "native/json", "native/log", "runtime", "tenant"},
		"results are JSON; print and native.context belong to every sandbox; other modules come from the host"},
	{"lambda", []string{"native", "native/vm", "native/json", "runtime", "runtime/runlog", "tenant"}, "a host gives invocations to a runtime; answers are JSON, and end before the platform's time does"},
	{"task/runner", []string{"native", "native/value", "runtime", "tenant"}, "how one invocation is run, for all hosts of task"},
	{"task/locktable", []string{"native/lock", "native/outcome", "tenant"}, "reads and frees the rows of locks"},
	{"task/api", []string{"native/lock", "runtime", "task/locktable", "task/runner", "tenant"},
		"the API knows its host by an interface, and neither schedules nor batches"},
	{"task/schedule", []string{"native/clock", "native/db", "native/json", "native/lock", "native/outcome", "native/value", "runtime", "task/locktable", "tenant"},
		"schedules know their host by an interface; they are kept in the store and guarded by locks"},
	{"task/batch", []string{"native", "native/value", "runtime", "runtime/runlog", "task/runner", "tenant"}, "a batch runs invocations by itself"},
	{"task/protection", nil, "knows the platform's agent alone"},
	{"task/tasktest", []string{"task"}, "serves hosts to tests"},
	{"task", []string{"native", "native/clock", "native/db", "native/lock", "native/value", "runtime", "runtime/fair", "runtime/runlog", "tenant"},
		"a host gives invocations to a runtime; it composes the API and the schedules"},
	{"scripts", nil, "examples and their data"},
	{"cmd/internal/wire", []string{"native", "runtime", "tenant", "cmd/internal/config"}, "puts everything together"},
	{"cmd", []string{"native", "runtime", "tenant", "lambda", "task", "cmd"}, "programs"},
	{"test", []string{""}, "tests look at everything"},
}

// interpreter lists who may import gopher-lua besides files named module.go.
var interpreter = []string{"native/vm", "native", "runtime/nativetest", "runtime", "runtime/check", "runtime/compile", "runtime/lualib", "test"}

// source is one Go file of the repository.
type source struct {
	path   string // below the root, with slashes
	folder string
	lines  int
	file   *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{path, filepath.ToSlash(filepath.Dir(path)), strings.Count(string(text), "\n"), file})
		return nil
	})
	if err != nil || len(out) < 50 {
		t.Fatalf("%d files read: %v", len(out), err)
	}
	return out
}

func inside(folder, of string) bool {
	return folder == of || strings.HasPrefix(folder, of+"/") || of == ""
}

func TestImportsGoDownwardsOnly(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, i := range s.file.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if path == "github.com/yuin/gopher-lua" && !mayUseInterpreter(s) {
				t.Errorf("%s imports gopher-lua: only the Lua face of a module does, in a file named module.go", s.path)
			}
			ours, ok := strings.CutPrefix(path, module)
			if !ok {
				continue
			}
			if row := layerOf(s.folder); row == nil {
				t.Errorf("%s lies in no layer: add its folder to the table", s.path)
			} else if !allowed(*row, ours) {
				t.Errorf("%s imports %s, but %s", s.path, ours, row.why)
			}
		}
	}
}

func mayUseInterpreter(s source) bool {
	if filepath.Base(s.path) == "module.go" {
		return true
	}
	for _, folder := range interpreter {
		if s.folder == folder || folder == "test" && inside(s.folder, folder) {
			return true
		}
	}
	return false
}

func layerOf(folder string) *layer {
	for _, row := range layers {
		if inside(folder, row.folder) {
			return &row
		}
	}
	return nil
}

// allowed says whether a layer may import a package of ours: one that it
// lists, one below a folder that a program lists, or one of its own.
func allowed(row layer, path string) bool {
	deep := row.folder == "cmd" || inside(row.folder, "cmd") || row.folder == "runtime/nativetest" || row.folder == "test" || row.folder == "native/db/dbtest"
	for _, p := range append([]string{row.folder}, row.imports...) {
		if path == p || deep && inside(path, p) || p == row.folder && inside(path, p) {
			return true
		}
	}
	return false
}

func TestFilesAreTidy(t *testing.T) {
	const linesMax = 460 // around 300 is the aim; what is longer is one table or one suite
	for _, s := range sources(t) {
		if s.lines > linesMax && !s.isTest() {
			t.Errorf("%s has %d lines, at most %d are allowed", s.path, s.lines, linesMax)
		}
		for _, word := range strings.Split(s.folder, "/") {
			if word == "util" || word == "utils" || word == "common" || word == "helpers" {
				t.Errorf("%s: a package is named for what it is, not %q", s.path, word)
			}
		}
		for _, d := range s.file.Decls {
			checkDeclaration(t, s, d)
		}
	}
}

func checkDeclaration(t *testing.T, s source, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.Name == "init" && d.Recv == nil {
			t.Errorf("%s: no init functions: state is made where it is used", s.path)
		}
		if d.Name.IsExported() && d.Doc == nil && !s.isTest() && documents(d) {
			t.Errorf("%s: %s is exported and says nothing of what it does", s.path, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && !s.isTest() {
				for _, name := range v.Names {
					if name.IsExported() {
						t.Errorf("%s: %s can be set by anybody: no exported variables", s.path, name.Name)
					}
				}
			}
			if typ, ok := spec.(*ast.TypeSpec); ok && typ.Name.IsExported() && typ.Doc == nil && d.Doc == nil && !s.isTest() {
				t.Errorf("%s: type %s is exported and says nothing of what it is", s.path, typ.Name.Name)
			}
		}
	}
}

// documents says whether a function needs a comment of its own: methods that
// fill an interface everybody knows don't, nor do those of unexported types.
func documents(d *ast.FuncDecl) bool {
	known := map[string]bool{"Error": true, "Unwrap": true, "String": true, "Deadline": true, "Value": true, "Write": true, "Close": true, "Now": true, "Sleep": true}
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported() && !known[d.Name.Name]
}
