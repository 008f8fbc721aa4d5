package compile

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

func (r *rewriter) exprs(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = r.expr(e)
	}
}

// expr rewrites an expression.
func (r *rewriter) expr(expr ast.Expr) ast.Expr {
	switch e := expr.(type) {
	case *ast.IdentExpr:
		r.resolve(e.Value)
	case *ast.StringExpr:
		r.reserve(e.Value)
		r.constant(constant{value: e.Value})
	case *ast.NumberExpr:
		r.number(e)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FuncCallExpr:
		r.call(e)
	case *ast.LogicalOpExpr:
		return r.logical(e)
	case *ast.RelationalOpExpr:
		r.countTargets(1)
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		expr, _ = r.arithmetic(e)
		return expr
	case *ast.UnaryNotOpExpr:
		return r.not(e)
	case *ast.UnaryLenOpExpr:
		return r.length(e)
	case *ast.FunctionExpr:
		r.function(e)
	}
	return expr
}

func (r *rewriter) number(e *ast.NumberExpr) {
	if value, ok := number(e.Value); ok {
		e.Value = value
	}
	r.constant(constant{number: true, value: e.Value})
}

func (r *rewriter) call(e *ast.FuncCallExpr) {
	if e.Func != nil {
		e.Func = r.expr(e.Func)
	} else {
		e.Receiver = r.expr(e.Receiver)
		r.constant(constant{value: e.Method})
	}
	r.exprs(e.Args)
}

// length rewrites #x as a call of the intrinsic that knows lists which are longer
// than an array. A string and a constructor of a table need none.
func (r *rewriter) length(e *ast.UnaryLenOpExpr) ast.Expr {
	switch e.Expr.(type) {
	case *ast.StringExpr, *ast.TableExpr:
		e.Expr = r.expr(e.Expr)
		return e
	}
	return r.callIntrinsic(lengthIntrinsic, e, single(r.expr(e.Expr)))
}

// arithmetic rewrites a numeric operation and returns how many operations it
// consists of. gopher-lua visits all of them whenever it compiles one of them,
// to fold constants.
func (r *rewriter) arithmetic(expr ast.Expr) (rewritten ast.Expr, size int) {
	switch e := expr.(type) {
	case *ast.ArithmeticOpExpr:
		var left, right int
		e.Lhs, left = r.arithmetic(e.Lhs)
		e.Rhs, right = r.arithmetic(e.Rhs)
		size = 1 + left + right
	case *ast.UnaryMinusOpExpr:
		e.Expr, size = r.arithmetic(e.Expr)
		size++
	default:
		return r.expr(expr), 1
	}
	r.spend(size)
	return expr, size
}

// truthValue is what is known of an expression's truth before it runs.
type truthValue int

const (
	unknown truthValue = iota
	always
	never
)

func truth(expr ast.Expr) truthValue {
	switch expr.(type) {
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return always
	case *ast.FalseExpr, *ast.NilExpr:
		return never
	}
	return unknown
}

// mayFold reports whether the rewrite might find that the first thing expr
// evaluates is a constant.
func mayFold(expr ast.Expr) bool {
	for {
		switch e := expr.(type) {
		case *ast.LogicalOpExpr:
			expr = e.Lhs
		case *ast.UnaryNotOpExpr:
			expr = e.Expr
		default:
			return truth(expr) != unknown
		}
	}
}

// logical rewrites "and" and "or" and drops a constant left side.
func (r *rewriter) logical(e *ast.LogicalOpExpr) ast.Expr {
	r.countTargets(4)
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	switch truth(e.Lhs) {
	case unknown:
		return e
	case always:
		if e.Operator == "and" {
			return single(e.Rhs)
		}
	case never:
		if e.Operator == "or" {
			return single(e.Rhs)
		}
	}
	return e.Lhs
}

func (r *rewriter) not(e *ast.UnaryNotOpExpr) ast.Expr {
	e.Expr = r.expr(e.Expr)
	switch truth(e.Expr) {
	case always:
		return positioned(&ast.FalseExpr{}, e)
	case never:
		return positioned(&ast.TrueExpr{}, e)
	}
	return e
}

// multiple reports whether expr can have several values in a list's last place.
func multiple(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// single cuts expr to one value, as parentheses do.
func single(expr ast.Expr) ast.Expr {
	switch e := expr.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return expr
}

// concat rewrites a..b..c as a call of the intrinsic that charges its result.
// Operands are evaluated and joined in the same order in both forms.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	operands := []ast.Expr{r.expr(e.Lhs)}
	last := e
	for {
		next, ok := last.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		operands = append(operands, r.expr(next.Lhs))
		next.Lhs, last = operands[len(operands)-1], next
	}
	e.Lhs = operands[0]
	last.Rhs = single(r.expr(last.Rhs))
	operands = append(operands, last.Rhs)
	return r.callIntrinsic(concatIntrinsic, e, operands...)
}

// table rewrites a constructor. gopher-lua stores items without a key in
// batches of 50 and goes wrong when something else than such an item follows a
// full batch: values with a key store the batch again, from registers that
// have changed, and a final call's values go to the wrong place. A final call
// makes it store all its values even if it has a key.
func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	items, mistranslated := 0, false
	for _, f := range e.Fields {
		f.Value = r.expr(f.Value)
		full := items > 0 && items%lua.FieldsPerFlush == 0
		if f.Key != nil {
			f.Key, f.Value = r.expr(f.Key), single(f.Value)
			mistranslated = mistranslated || full
			continue
		}
		items++
		mistranslated = mistranslated || full && f == e.Fields[len(e.Fields)-1] && multiple(f.Value)
	}
	if items > positionalMax {
		r.fail(e.Line(), "table constructor has too many items (limit is %d)", positionalMax)
	}
	if !mistranslated {
		return e
	}
	if last := e.Fields[len(e.Fields)-1]; last.Key == nil && multiple(last.Value) {
		e.Fields = e.Fields[:len(e.Fields)-1]
		r.keyItems(e)
		return r.callIntrinsic(extendIntrinsic, e, e, r.integer(items-1, e), last.Value)
	}
	r.keyItems(e)
	return e
}

// keyItems gives all items from the one that would fill a batch a key.
func (r *rewriter) keyItems(e *ast.TableExpr) {
	items := 0
	for _, f := range e.Fields {
		if f.Key != nil {
			continue
		}
		if items++; items >= lua.FieldsPerFlush {
			f.Key = r.integer(items, f.Value)
		}
	}
}

func (r *rewriter) integer(n int, origin ast.PositionHolder) ast.Expr {
	e := positioned(&ast.NumberExpr{Value: fmt.Sprint(n)}, origin)
	r.number(e)
	return e
}
