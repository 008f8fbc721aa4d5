package compile

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// rewriter counts what gopher-lua's compiler will need and rewrites what it would
// mistranslate. It changes the tree in place, in the order of the source, and
// recurses: checkDepth has bounded the tree. It refuses a source by a panic with
// a [*SyntaxError].
type rewriter struct {
	file           string
	limits         Limits
	fn             *function // the current one
	functions      int       // so far
	work           int       // so far
	jumps          []jump
	loops          int // with a label behind them, so far
	intrinsicCalls []intrinsicCall
	reserved       map[string]bool // string literals that could be the name of an intrinsic
}

// chunk rewrites a whole chunk.
func (r *rewriter) chunk(stmts []ast.Stmt) []ast.Stmt {
	r.enterFunction(0)
	stmts = r.stmts(stmts)
	r.leaveFunction()
	return stmts
}

// fail ends the rewrite with an error at line.
func (r *rewriter) fail(line int, format string, args ...any) {
	panic(&SyntaxError{File: r.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

// refuse ends the rewrite because the current function is over a limit.
func (r *rewriter) refuse(what string, limit int) {
	if r.fn.line == 0 {
		r.fail(0, "main function has too many %s (limit is %d)", what, limit)
	}
	r.fail(r.fn.line, "function at line %d has too many %s (limit is %d)", r.fn.line, what, limit)
}

// spend counts n steps of the compiler's quadratic loops.
func (r *rewriter) spend(n int) {
	if r.work += n; r.work > r.limits.Work {
		r.fail(r.fn.line, "chunk is too complex (limit is %d steps of the compiler)", r.limits.Work)
	}
}

// block rewrites stmts in a scope of their own.
func (r *rewriter) block(stmts []ast.Stmt) []ast.Stmt {
	r.enter(nil)
	stmts = r.stmts(stmts)
	r.leave()
	return stmts
}

// stmts rewrites stmts in the current scope.
func (r *rewriter) stmts(stmts []ast.Stmt) []ast.Stmt {
	out := make([]ast.Stmt, 0, len(stmts))
	labels := labelRuns(stmts)
	until := r.fn.block.loop != nil && r.fn.block.loop.until
	for i, s := range stmts {
		r.spend(labels[i])
		if l, ok := s.(*ast.LabelStmt); ok {
			r.label(l, i+1+labels[i] == len(stmts) && !until)
			out = append(out, l)
			continue
		}
		out = append(out, r.stmt(s))
	}
	return out
}

// labelRuns returns for each statement how many labels stand right behind it.
func labelRuns(stmts []ast.Stmt) []int {
	runs := make([]int, len(stmts))
	for i := len(stmts) - 2; i >= 0; i-- {
		if _, ok := stmts[i+1].(*ast.LabelStmt); ok {
			runs[i] = runs[i+1] + 1
		}
	}
	return runs
}

// stmt rewrites one statement other than a label.
func (r *rewriter) stmt(stmt ast.Stmt) ast.Stmt {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.localAssign(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		return r.while(s)
	case *ast.RepeatStmt:
		return r.repeat(s)
	case *ast.NumberForStmt:
		return r.numberFor(s)
	case *ast.GenericForStmt:
		return r.genericFor(s)
	case *ast.IfStmt:
		return r.ifElse(s)
	case *ast.FuncDefStmt:
		r.functionDef(s)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	case *ast.BreakStmt:
		return r.breakLoop(s)
	case *ast.GotoStmt:
		r.gotoLabel(s)
	}
	return stmt
}

func (r *rewriter) ifElse(s *ast.IfStmt) ast.Stmt {
	r.countTargets(3)
	s.Condition = r.expr(s.Condition)
	switch truth(s.Condition) {
	case always:
		return r.taken(s, s.Then)
	case never:
		return r.taken(s, s.Else)
	}
	s.Then = r.block(s.Then)
	s.Else = r.block(s.Else)
	return s
}

// taken returns the branch of s that is always taken. A block stays a block,
// even an empty one: it decides which label is a block's last.
func (r *rewriter) taken(s *ast.IfStmt, branch []ast.Stmt) ast.Stmt {
	return positioned(&ast.DoBlockStmt{Stmts: r.block(branch)}, s)
}

// functionDef rewrites "function a.b:c() ... end".
func (r *rewriter) functionDef(s *ast.FuncDefStmt) {
	if s.Name.Func != nil {
		s.Name.Func = r.expr(s.Name.Func)
		r.function(s.Func)
		return
	}
	s.Name.Receiver = r.expr(s.Name.Receiver)
	r.constant(constant{value: s.Name.Method})
	r.function(s.Func, "self")
}

// function rewrites a function's body; self is the name of a hidden first
// parameter, if it has one.
func (r *rewriter) function(f *ast.FunctionExpr, self ...string) {
	params := append(self, f.ParList.Names...)
	if f.ParList.HasVargs {
		params = append(params, "arg")
	}
	r.enterFunction(f.Line(), params...)
	f.Stmts = r.stmts(f.Stmts)
	r.leaveFunction()
}

// positioned returns node with the lines of origin.
func positioned[T ast.PositionHolder](node T, origin ast.PositionHolder) T {
	node.SetLine(origin.Line())
	node.SetLastLine(origin.LastLine())
	return node
}
