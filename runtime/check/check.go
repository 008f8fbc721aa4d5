// Package check finds mistakes in scripts without running them: undefined
// globals, and fields that the libraries of scripts don't have.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/tidelock-lua/tidelock/runtime/compile"
)

// Names are the global variables of scripts. The value of a table is the Names of
// its fields, that of everything else nil.
type Names map[string]Names

// Finding is one mistake.
type Finding struct {
	File string `json:"file"`
	// Line and Column count from 1, Column in bytes; 0 means unknown.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func (f Finding) String() string {
	switch {
	case f.Line == 0:
		return f.File + ": " + f.Message
	case f.Column == 0:
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// Source checks a script and returns its mistakes by line. One that doesn't
// compile has a single finding: the syntax error. names are the globals that
// every script has.
func Source(ctx context.Context, file, source string, names Names) []Finding {
	// The compiler refuses what is too deep for the recursion here.
	if _, err := compile.New(compile.Limits{}).Compile(ctx, file, source); err != nil {
		var syntax *compile.SyntaxError
		if !errors.As(err, &syntax) {
			return []Finding{{File: file, Message: err.Error()}}
		}
		return []Finding{{syntax.File, syntax.Line, syntax.Column, syntax.Message}}
	}
	chunk, err := parse.Parse(strings.NewReader(withoutShebang(source)), file)
	if err != nil {
		return []Finding{{File: file, Message: err.Error()}}
	}
	c := &checker{file: file, lines: strings.Split(source, "\n"), names: names, defined: map[string]bool{}}
	collect := &assignedGlobals{names: c.defined}
	collect.block(chunk)
	c.block(chunk, nil)
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return a.Line - b.Line })
	return c.findings
}

// withoutShebang blanks a first line that begins with #, as the compiler does.
func withoutShebang(source string) string {
	if !strings.HasPrefix(source, "#") {
		return source
	}
	_, rest, _ := strings.Cut(source, "\n")
	return "\n" + rest
}

// removed maps what Lua has and scripts don't to what to use instead.
var removed = map[string]string{
	"io":                    "scripts have no files: use native.stream, or the event",
	"os.execute":            "scripts run no programs",
	"os.exit":               "return, or raise an error",
	"os.getenv":             "scripts have no environment: use the event",
	"os.remove":             "scripts have no files",
	"os.rename":             "scripts have no files",
	"os.tmpname":            "scripts have no files",
	"os.setlocale":          "there is one locale",
	"dofile":                "use require",
	"loadfile":              "use require",
	"package":               "require finds files beside the script",
	"module":                "return a table from the file that is required",
	"string.dump":           "there is no byte code",
	"newproxy":              "use a table with a metatable",
	"channel":               "runs share nothing: use native.db",
	"table.getn":            "use #",
	"table.foreach":         "use for ... in pairs(...)",
	"table.foreachi":        "use for ... in ipairs(...)",
	"table.setn":            "a table's length follows from its elements",
	"string.gfind":          "use string.gmatch",
	"loadlib":               "scripts load no libraries",
	"debug.getinfo":         "only debug.traceback is there",
	"coroutine.close":       "that is Lua 5.4's",
	"table.pack":            "that is Lua 5.2's: use { n = select('#', ...), ... }",
	"table.unpack":          "that is Lua 5.2's: use unpack",
	"utf8":                  "that is Lua 5.3's",
	"bit32":                 "that is Lua 5.2's",
	"math.type":             "that is Lua 5.3's",
	"math.tointeger":        "that is Lua 5.3's",
	"string.pack":           "that is Lua 5.3's",
	"coroutine.isyieldable": "that is Lua 5.3's",
	"null":                  "Lua's is nil, that of documents native.json.null",
	"None":                  "Lua's is nil",
	"undefined":             "Lua's is nil",
	"True":                  "Lua's is true",
	"False":                 "Lua's is false",
	"this":                  "Lua's is self, in functions that are defined with a colon",
	"require_once":          "use require",
	"console":               "use print, or native.log",
	"JSON":                  "use native.json",
	"Math":                  "Lua's is math",
}

// Instead returns what to use instead of a name that Lua or another language has
// and scripts don't, such as "os.getenv", or "" if nothing is known.
func Instead(name string) string { return removed[name] }

// checker walks a chunk and collects its mistakes.
type checker struct {
	file     string
	lines    []string
	names    Names
	defined  map[string]bool // globals that the script defines itself
	findings []Finding
}

// scope holds the local variables of a block, and those around it.
type scope struct {
	outer *scope
	names []string
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if slices.Contains(s.names, name) {
			return true
		}
	}
	return false
}

func (c *checker) report(line int, name, format string, args ...any) {
	c.findings = append(c.findings, Finding{c.file, line, c.column(line, name), fmt.Sprintf(format, args...)})
}

// column returns where a name first occurs in a line, 0 if it doesn't.
func (c *checker) column(line int, name string) int {
	if line < 1 || line > len(c.lines) {
		return 0
	}
	text := c.lines[line-1]
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return 0
		}
		at := from + i
		end := at + len(name)
		if (at == 0 || !inName(text[at-1])) && (end == len(text) || !inName(text[end])) {
			return at + 1
		}
		from = end
	}
}

func inName(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// block checks statements in a scope of their own inside s, and returns it.
func (c *checker) block(stmts []ast.Stmt, s *scope) *scope {
	in := &scope{outer: s}
	for _, stmt := range stmts {
		c.stmt(stmt, in)
	}
	return in
}

func (c *checker) stmt(stmt ast.Stmt, s *scope) {
	switch t := stmt.(type) {
	case *ast.AssignStmt:
		c.exprs(t.Rhs, s)
		for _, left := range t.Lhs {
			if name, ok := left.(*ast.IdentExpr); ok {
				if !s.has(name.Value) && c.known(name.Value) {
					c.report(name.Line(), name.Value, "assigns to %s, which every script has", name.Value)
				}
				continue
			}
			c.target(left, s)
		}
	case *ast.LocalAssignStmt:
		if len(t.Names) == 1 && len(t.Exprs) == 1 {
			if _, ok := t.Exprs[0].(*ast.FunctionExpr); ok { // it may call itself
				s.names = append(s.names, t.Names...)
			}
		}
		c.exprs(t.Exprs, s)
		s.names = append(s.names, t.Names...)
	case *ast.FuncCallStmt:
		c.expr(t.Expr, s)
	case *ast.DoBlockStmt:
		c.block(t.Stmts, s)
	case *ast.WhileStmt:
		c.expr(t.Condition, s)
		c.block(t.Stmts, s)
	case *ast.RepeatStmt:
		c.expr(t.Condition, c.block(t.Stmts, s))
	case *ast.IfStmt:
		c.expr(t.Condition, s)
		c.block(t.Then, s)
		c.block(t.Else, s)
	case *ast.NumberForStmt:
		c.exprs([]ast.Expr{t.Init, t.Limit, t.Step}, s)
		c.block(t.Stmts, &scope{s, []string{t.Name}})
	case *ast.GenericForStmt:
		c.exprs(t.Exprs, s)
		c.block(t.Stmts, &scope{s, t.Names})
	case *ast.FuncDefStmt:
		c.function(t, s)
	case *ast.ReturnStmt:
		c.exprs(t.Exprs, s)
	}
}

// function checks "function a.b:c() ... end".
func (c *checker) function(t *ast.FuncDefStmt, s *scope) {
	var self []string
	if t.Name.Receiver != nil {
		c.expr(t.Name.Receiver, s)
		self = []string{"self"}
	} else if _, simple := t.Name.Func.(*ast.IdentExpr); !simple {
		c.target(t.Name.Func, s)
	}
	c.body(t.Func, &scope{s, self})
}

func (c *checker) body(f *ast.FunctionExpr, s *scope) {
	c.block(f.Stmts, &scope{s, append(slices.Clone(f.ParList.Names), "arg")})
}

// target checks what is assigned to: the field itself may be new.
func (c *checker) target(e ast.Expr, s *scope) {
	if field, ok := e.(*ast.AttrGetExpr); ok {
		if path := path(field.Object); len(path) > 0 && !s.has(path[0]) && c.lookup(path) != nil {
			c.report(field.Line(), path[0], "assigns to a field of %s, which every script has", strings.Join(path, "."))
			return
		}
		c.expr(field.Object, s)
		c.expr(field.Key, s)
		return
	}
	c.expr(e, s)
}

func (c *checker) exprs(all []ast.Expr, s *scope) {
	for _, e := range all {
		if e != nil {
			c.expr(e, s)
		}
	}
}

func (c *checker) expr(e ast.Expr, s *scope) {
	switch t := e.(type) {
	case *ast.IdentExpr:
		c.name(t, s)
	case *ast.AttrGetExpr:
		if !c.field(t, s) {
			c.expr(t.Object, s)
		}
		c.expr(t.Key, s)
	case *ast.TableExpr:
		for _, f := range t.Fields {
			c.exprs([]ast.Expr{f.Key, f.Value}, s)
		}
	case *ast.FuncCallExpr:
		c.exprs([]ast.Expr{t.Func, t.Receiver}, s)
		c.exprs(t.Args, s)
	case *ast.LogicalOpExpr:
		c.exprs([]ast.Expr{t.Lhs, t.Rhs}, s)
	case *ast.RelationalOpExpr:
		c.exprs([]ast.Expr{t.Lhs, t.Rhs}, s)
	case *ast.StringConcatOpExpr:
		c.exprs([]ast.Expr{t.Lhs, t.Rhs}, s)
	case *ast.ArithmeticOpExpr:
		c.exprs([]ast.Expr{t.Lhs, t.Rhs}, s)
	case *ast.UnaryMinusOpExpr:
		c.expr(t.Expr, s)
	case *ast.UnaryNotOpExpr:
		c.expr(t.Expr, s)
	case *ast.UnaryLenOpExpr:
		c.expr(t.Expr, s)
	case *ast.FunctionExpr:
		c.body(t, s)
	}
}

func (c *checker) known(name string) bool { _, ok := c.names[name]; return ok }

// name reports an undefined global.
func (c *checker) name(t *ast.IdentExpr, s *scope) {
	if s.has(t.Value) || c.known(t.Value) || c.defined[t.Value] {
		return
	}
	if why, ok := removed[t.Value]; ok {
		c.report(t.Line(), t.Value, "%s is not there: %s", t.Value, why)
		return
	}
	c.report(t.Line(), t.Value, "undefined global %s", t.Value)
}

// field reports a field that a known table doesn't have. It returns false if the
// object is no known table.
func (c *checker) field(t *ast.AttrGetExpr, s *scope) bool {
	whole := path(t)
	if len(whole) < 2 || s.has(whole[0]) {
		return false
	}
	object := whole[:len(whole)-1]
	if !c.known(whole[0]) {
		full := strings.Join(whole, ".")
		if why, ok := removed[full]; ok && !c.defined[whole[0]] {
			c.report(t.Line(), whole[0], "%s is not there: %s", full, why)
			return true
		}
		return false
	}
	table := c.lookup(object)
	if table == nil {
		return false
	}
	key := whole[len(whole)-1]
	if _, ok := table[key]; ok || c.defined[strings.Join(whole, ".")] {
		return true
	}
	full := strings.Join(whole, ".")
	if why, ok := removed[full]; ok {
		c.report(t.Line(), key, "%s is not there: %s", full, why)
	} else {
		c.report(t.Line(), key, "%s has no field %s", strings.Join(object, "."), key)
	}
	return true
}

// lookup returns the fields of a known table, nil if there is none.
func (c *checker) lookup(path []string) Names {
	at := c.names
	for _, key := range path {
		at = at[key]
	}
	return at
}

// path returns the names of a.b.c, nil for anything else.
func path(e ast.Expr) []string {
	switch t := e.(type) {
	case *ast.IdentExpr:
		return []string{t.Value}
	case *ast.AttrGetExpr:
		key, ok := t.Key.(*ast.StringExpr)
		object := path(t.Object)
		if !ok || object == nil {
			return nil
		}
		return append(object, key.Value)
	}
	return nil
}
