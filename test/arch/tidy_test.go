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
	"strings"
	"testing"
)

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
