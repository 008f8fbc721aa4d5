package compile

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// checkDepth bounds how far from the chunk a node may be. Later stages and
// gopher-lua's compiler recurse along these paths and fold numbers in time
// that is quadratic in their length, so this one doesn't recurse.
func checkDepth(file string, chunk []ast.Stmt, limits Limits) *SyntaxError {
	var w depthWalk
	w.block(chunk, at{nesting: -1})
	for len(w.todo) > 0 {
		next := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		switch {
		case next.nesting > limits.Nesting:
			message := fmt.Sprintf("chunk has too many syntax levels (limit is %d)", limits.Nesting)
			return &SyntaxError{File: file, Line: next.node.Line(), Message: message}
		case next.operators > limits.Operators:
			message := fmt.Sprintf("expression or elseif chain is too long (limit is %d)", limits.Operators)
			return &SyntaxError{File: file, Line: next.node.Line(), Message: message}
		}
		if stmt, ok := next.node.(ast.Stmt); ok {
			w.stmt(stmt, next.at)
		} else {
			w.expr(next.node.(ast.Expr), next.at)
		}
	}
	return nil
}

// at is how deep a node lies.
type at struct{ nesting, operators int }

func (a at) inside() at { return at{a.nesting + 1, a.operators} }
func (a at) below() at  { return at{a.nesting, a.operators + 1} }

type depthWalk struct {
	todo []depthStep
}

type depthStep struct {
	node ast.PositionHolder
	at
}

func (w *depthWalk) push(node ast.PositionHolder, a at) {
	w.todo = append(w.todo, depthStep{node, a})
}

func (w *depthWalk) block(stmts []ast.Stmt, a at) {
	for _, s := range stmts {
		w.push(s, a.inside())
	}
}

func (w *depthWalk) exprs(exprs []ast.Expr, a at) {
	for _, e := range exprs {
		if e != nil {
			w.push(e, a)
		}
	}
}

func (w *depthWalk) stmt(stmt ast.Stmt, a at) {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		w.exprs(s.Lhs, a)
		w.exprs(s.Rhs, a)
	case *ast.LocalAssignStmt:
		w.exprs(s.Exprs, a)
	case *ast.FuncCallStmt:
		w.push(s.Expr, a)
	case *ast.DoBlockStmt:
		w.block(s.Stmts, a)
	case *ast.WhileStmt:
		w.push(s.Condition, a)
		w.block(s.Stmts, a)
	case *ast.RepeatStmt:
		w.push(s.Condition, a)
		w.block(s.Stmts, a)
	case *ast.NumberForStmt:
		w.exprs([]ast.Expr{s.Init, s.Limit, s.Step}, a)
		w.block(s.Stmts, a)
	case *ast.GenericForStmt:
		w.exprs(s.Exprs, a)
		w.block(s.Stmts, a)
	case *ast.FuncDefStmt:
		w.exprs([]ast.Expr{s.Name.Func, s.Name.Receiver, s.Func}, a)
	case *ast.ReturnStmt:
		w.exprs(s.Exprs, a)
	case *ast.IfStmt:
		w.push(s.Condition, a)
		w.block(s.Then, a)
		if next, ok := elseif(s); ok {
			w.push(next, a.below())
		} else {
			w.block(s.Else, a)
		}
	}
}

// elseif returns the next step of an elseif chain. The parser nests them, so
// "else if ... end" looks the same.
func elseif(s *ast.IfStmt) (*ast.IfStmt, bool) {
	if len(s.Else) != 1 {
		return nil, false
	}
	next, ok := s.Else[0].(*ast.IfStmt)
	return next, ok
}

func (w *depthWalk) expr(expr ast.Expr, a at) {
	switch e := expr.(type) {
	case *ast.AttrGetExpr:
		w.push(e.Object, a.below())
		w.push(e.Key, a.below())
	case *ast.TableExpr:
		for _, f := range e.Fields {
			w.push(f.Value, a.inside())
			if f.Key != nil {
				w.push(f.Key, a.inside())
			}
		}
	case *ast.FuncCallExpr:
		w.exprs([]ast.Expr{e.Func, e.Receiver}, a.below())
		w.exprs(e.Args, a.below())
	case *ast.LogicalOpExpr:
		w.exprs([]ast.Expr{e.Lhs, e.Rhs}, a.below())
	case *ast.RelationalOpExpr:
		w.exprs([]ast.Expr{e.Lhs, e.Rhs}, a.below())
	case *ast.StringConcatOpExpr:
		w.exprs([]ast.Expr{e.Lhs, e.Rhs}, a.below())
	case *ast.ArithmeticOpExpr:
		w.exprs([]ast.Expr{e.Lhs, e.Rhs}, a.below())
	case *ast.UnaryMinusOpExpr:
		w.push(e.Expr, a.below())
	case *ast.UnaryNotOpExpr:
		w.push(e.Expr, a.below())
	case *ast.UnaryLenOpExpr:
		w.push(e.Expr, a.below())
	case *ast.FunctionExpr:
		w.block(e.Stmts, a)
	}
}
