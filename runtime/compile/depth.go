package compile

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// checkDepth bounds how far from the chunk a node may be. Later stages and
// gopher-lua's compiler recurse along these paths and fold numbers in time
// that is quadratic in their length. So this stage itself uses a loop.
func checkDepth(file string, chunk []ast.Stmt, limits Limits) *SyntaxError {
	var c depthCheck
	c.block(chunk, depth{nesting: -1})
	for len(c.todo) > 0 {
		next := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		switch {
		case next.nesting > limits.Nesting:
			message := fmt.Sprintf("chunk has too many syntax levels (limit is %d)", limits.Nesting)
			return &SyntaxError{File: file, Line: next.node.Line(), Message: message}
		case next.operators > limits.Operators:
			message := fmt.Sprintf("expression or elseif chain is too long (limit is %d)", limits.Operators)
			return &SyntaxError{File: file, Line: next.node.Line(), Message: message}
		}
		if stmt, ok := next.node.(ast.Stmt); ok {
			c.stmt(stmt, next.depth)
		} else {
			c.expr(next.node.(ast.Expr), next.depth)
		}
	}
	return nil
}

// depth is how deep a node is.
type depth struct{ nesting, operators int }

func (d depth) nested() depth  { return depth{d.nesting + 1, d.operators} }
func (d depth) chained() depth { return depth{d.nesting, d.operators + 1} }

type depthCheck struct {
	todo []depthStep
}

type depthStep struct {
	node ast.PositionHolder
	depth
}

func (c *depthCheck) push(node ast.PositionHolder, d depth) {
	c.todo = append(c.todo, depthStep{node, d})
}

func (c *depthCheck) block(stmts []ast.Stmt, d depth) {
	for _, s := range stmts {
		c.push(s, d.nested())
	}
}

func (c *depthCheck) exprs(exprs []ast.Expr, d depth) {
	for _, e := range exprs {
		if e != nil {
			c.push(e, d)
		}
	}
}

func (c *depthCheck) stmt(stmt ast.Stmt, d depth) {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		c.exprs(s.Lhs, d)
		c.exprs(s.Rhs, d)
	case *ast.LocalAssignStmt:
		c.exprs(s.Exprs, d)
	case *ast.FuncCallStmt:
		c.push(s.Expr, d)
	case *ast.DoBlockStmt:
		c.block(s.Stmts, d)
	case *ast.WhileStmt:
		c.push(s.Condition, d)
		c.block(s.Stmts, d)
	case *ast.RepeatStmt:
		c.push(s.Condition, d)
		c.block(s.Stmts, d)
	case *ast.NumberForStmt:
		c.exprs([]ast.Expr{s.Init, s.Limit, s.Step}, d)
		c.block(s.Stmts, d)
	case *ast.GenericForStmt:
		c.exprs(s.Exprs, d)
		c.block(s.Stmts, d)
	case *ast.FuncDefStmt:
		c.exprs([]ast.Expr{s.Name.Func, s.Name.Receiver, s.Func}, d)
	case *ast.ReturnStmt:
		c.exprs(s.Exprs, d)
	case *ast.IfStmt:
		c.push(s.Condition, d)
		c.block(s.Then, d)
		if next, ok := elseif(s); ok {
			c.push(next, d.chained())
		} else {
			c.block(s.Else, d)
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

func (c *depthCheck) expr(expr ast.Expr, d depth) {
	switch e := expr.(type) {
	case *ast.AttrGetExpr:
		c.push(e.Object, d.chained())
		c.push(e.Key, d.chained())
	case *ast.TableExpr:
		for _, f := range e.Fields {
			c.push(f.Value, d.nested())
			if f.Key != nil {
				c.push(f.Key, d.nested())
			}
		}
	case *ast.FuncCallExpr:
		c.exprs([]ast.Expr{e.Func, e.Receiver}, d.chained())
		c.exprs(e.Args, d.chained())
	case *ast.LogicalOpExpr:
		c.exprs([]ast.Expr{e.Lhs, e.Rhs}, d.chained())
	case *ast.RelationalOpExpr:
		c.exprs([]ast.Expr{e.Lhs, e.Rhs}, d.chained())
	case *ast.StringConcatOpExpr:
		c.exprs([]ast.Expr{e.Lhs, e.Rhs}, d.chained())
	case *ast.ArithmeticOpExpr:
		c.exprs([]ast.Expr{e.Lhs, e.Rhs}, d.chained())
	case *ast.UnaryMinusOpExpr:
		c.push(e.Expr, d.chained())
	case *ast.UnaryNotOpExpr:
		c.push(e.Expr, d.chained())
	case *ast.UnaryLenOpExpr:
		c.push(e.Expr, d.chained())
	case *ast.FunctionExpr:
		c.block(e.Stmts, d)
	}
}
