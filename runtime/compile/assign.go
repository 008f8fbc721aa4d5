package compile

import (
	"fmt"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// assign rewrites an assignment. gopher-lua evaluates a value for a local
// right into the local's register, while other sides still need its old value.
// So, wherever that can matter, all sides go to fresh locals first:
//
//	a[i], i = f(), i + 1
//
// becomes
//
//	do
//	  local (object 1), (key 1) = a, i      -- what stays as it is isn't copied
//	  local (value 1), (value 2) = f(), i + 1
//	  i = (value 2)
//	  (object 1)[(key 1)] = (value 1)
//	end
//
// in Lua's order: targets before values, stores from last to first.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	r.exprs(s.Lhs)
	r.exprs(s.Rhs)
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		if !r.isLocal(s.Lhs[0]) || !unsafeInPlace(s.Rhs[0]) {
			return s
		}
	} else if len(s.Lhs) == len(s.Rhs) && !slices.ContainsFunc(append(s.Lhs, s.Rhs...), isName) {
		return s // each object, key and value is in a register of its own already
	}
	fixed := r.fixTargets(s)
	values := positioned(&ast.LocalAssignStmt{Exprs: s.Rhs}, s)
	var stores []ast.Stmt
	for i, target := range s.Lhs {
		name := fmt.Sprintf("(value %d)", i+1)
		values.Names = append(values.Names, name)
		stores = append(stores, positioned(&ast.AssignStmt{
			Lhs: []ast.Expr{target},
			Rhs: []ast.Expr{positioned(&ast.IdentExpr{Value: name}, target)},
		}, target))
	}
	slices.Reverse(stores)
	body := append([]ast.Stmt{values}, stores...)
	if len(fixed.Names) > 0 {
		body = append([]ast.Stmt{fixed}, body...)
	}
	r.enter(nil)
	r.declare(fixed.Names...)
	r.declare(values.Names...)
	r.leave()
	return positioned(&ast.DoBlockStmt{Stmts: body}, s)
}

// fixTargets replaces objects and keys in the targets of s whose value could
// change before the stores, and returns the declaration of their replacements.
// As in Lua, local variables are not copied unless the statement itself assigns
// them.
func (r *rewriter) fixTargets(s *ast.AssignStmt) *ast.LocalAssignStmt {
	assigned := map[string]bool{}
	for _, target := range s.Lhs {
		if ident, ok := target.(*ast.IdentExpr); ok {
			assigned[ident.Value] = true
		}
	}
	decl := positioned(&ast.LocalAssignStmt{}, s)
	fix := func(expr ast.Expr, kind string, i int) ast.Expr {
		switch e := expr.(type) {
		case *ast.StringExpr, *ast.NumberExpr, *ast.TrueExpr, *ast.FalseExpr:
			return expr
		case *ast.IdentExpr:
			if !assigned[e.Value] && r.isLocal(e) {
				return expr
			}
		}
		name := fmt.Sprintf("(%s %d)", kind, i+1)
		decl.Names = append(decl.Names, name)
		decl.Exprs = append(decl.Exprs, expr)
		return positioned(&ast.IdentExpr{Value: name}, expr)
	}
	for i, target := range s.Lhs {
		if field, ok := target.(*ast.AttrGetExpr); ok {
			field.Object = fix(field.Object, "object", i)
			field.Key = fix(field.Key, "key", i)
		}
	}
	return decl
}

// isLocal reports whether expr is a local variable of the current function.
func (r *rewriter) isLocal(expr ast.Expr) bool {
	return isName(expr) && r.resolve(expr.(*ast.IdentExpr).Value) == local
}

func isName(expr ast.Expr) bool {
	_, ok := expr.(*ast.IdentExpr)
	return ok
}

// unsafeInPlace reports whether gopher-lua may go wrong when it evaluates expr
// into the register of a local that exists already: "and" leaves the old value
// in place if an operand that isn't the last is false, and a call in
// parentheses overwrites the registers behind a last parameter.
func unsafeInPlace(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.LogicalOpExpr:
		return e.Operator == "and" || unsafeInPlace(e.Lhs) || unsafeInPlace(e.Rhs)
	case *ast.FuncCallExpr:
		return e.AdjustRet
	case *ast.Comma3Expr:
		return e.AdjustRet
	}
	return false
}

// localAssign rewrites "local a, b = ..." and "local function f() ... end".
func (r *rewriter) localAssign(s *ast.LocalAssignStmt) {
	if s.LastLine() != 0 { // the parser sets it for "local function" only
		r.declare(s.Names...)
		r.exprs(s.Exprs)
		return
	}
	r.exprs(s.Exprs)
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		// In the body of "local f = function ... end" f is not the new local.
		// gopher-lua compiles it like "local function f ... end" if that is
		// the only expression; so there are two.
		if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			s.Exprs = append(s.Exprs, positioned(&ast.NilExpr{}, s))
		}
	}
	r.declare(s.Names...)
}
