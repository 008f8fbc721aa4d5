package compile

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/tidelock-lua/tidelock/native/numeral"
)

// boundNames names the locals that keep the bounds of a numeric loop.
var boundNames = []string{"(initial)", "(limit)", "(step)"}

// bounds rewrites the bounds of a numeric loop. gopher-lua takes numbers only,
// Lua takes numerals in strings too: an intrinsic converts them. If the last bound
// that isn't a constant is the only one that might be a string, that one is
// converted where it is. Otherwise all are by one call in the statement that
// bounds returns, because all must be evaluated before one is refused.
func (r *rewriter) bounds(s *ast.NumberForStmt) *ast.LocalAssignStmt {
	places := []*ast.Expr{&s.Init, &s.Limit}
	if s.Step != nil {
		places = append(places, &s.Step)
	} else {
		r.constant(constant{number: true, value: "1"})
	}
	first, last := -1, -1 // of those that might be a string; last is any that isn't a constant
	unknown := 0
	for i, e := range places {
		if !isNumber(*e) {
			first = i
			unknown++
		}
		if !isConstant(*e) {
			last = i
		}
		*e = single(r.expr(*e))
	}
	switch {
	case unknown == 0:
		return nil
	case unknown == 1 && first == last:
		*places[first] = r.callIntrinsic(initialIntrinsic+intrinsic(first), s, *places[first])
		return nil
	}
	before := positioned(&ast.LocalAssignStmt{Names: slices.Clone(boundNames[:len(places)])}, s)
	var args []ast.Expr
	for i, e := range places {
		args = append(args, *e)
		*e = positioned(&ast.IdentExpr{Value: boundNames[i]}, s)
	}
	call := r.callIntrinsic(boundsIntrinsic, s, args...)
	call.AdjustRet = false
	before.Exprs = []ast.Expr{call}
	return before
}

// isNumber reports whether the value of an expression is a number, unless a
// metamethod makes something else of it.
func isNumber(expr ast.Expr) bool {
	switch expr.(type) {
	case *ast.NumberExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr, *ast.UnaryLenOpExpr:
		return true
	}
	return false
}

func isConstant(expr ast.Expr) bool {
	if minus, ok := expr.(*ast.UnaryMinusOpExpr); ok {
		expr = minus.Expr
	}
	_, ok := expr.(*ast.NumberExpr)
	return ok
}

// The bounds of a numeric loop, as the interpreter's errors name them.
const (
	initialValue = "init"
	limitValue   = "limit"
	stepValue    = "step"
)

// bound returns the only argument as a number.
func bound(L *lua.LState, name string) int {
	convertBound(L, 1, name)
	return 1
}

// allBounds returns its arguments as numbers.
func allBounds(L *lua.LState) int {
	for i, name := range [...]string{initialValue, limitValue, stepValue} {
		if i < L.GetTop() {
			convertBound(L, i+1, name)
		}
	}
	return L.GetTop()
}

// convertBound makes argument n a number, or raises the interpreter's error.
func convertBound(L *lua.LState, n int, name string) {
	v := L.Get(n)
	if _, ok := v.(lua.LNumber); ok {
		return
	}
	text, _ := v.(lua.LString)
	x, ok := numeral.Parse(string(text))
	if !ok {
		L.RaiseError("for statement %s must be a number", name)
	}
	L.Replace(n, lua.LNumber(x))
}
