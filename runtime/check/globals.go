package check

import "github.com/yuin/gopher-lua/ast"

// assignedGlobals collects the globals that a chunk assigns anywhere: they may
// be used before that line.
type assignedGlobals struct{ names map[string]bool }

func (a *assignedGlobals) block(stmts []ast.Stmt) {
	for _, stmt := range stmts {
		a.stmt(stmt)
	}
}

func (a *assignedGlobals) stmt(stmt ast.Stmt) {
	switch t := stmt.(type) {
	case *ast.AssignStmt:
		for _, left := range t.Lhs {
			if name, ok := left.(*ast.IdentExpr); ok {
				a.names[name.Value] = true
			}
		}
		a.exprs(t.Rhs...)
	case *ast.LocalAssignStmt:
		a.exprs(t.Exprs...)
	case *ast.FuncCallStmt:
		a.exprs(t.Expr)
	case *ast.DoBlockStmt:
		a.block(t.Stmts)
	case *ast.WhileStmt:
		a.block(t.Stmts)
	case *ast.RepeatStmt:
		a.block(t.Stmts)
	case *ast.IfStmt:
		a.block(t.Then)
		a.block(t.Else)
	case *ast.NumberForStmt:
		a.block(t.Stmts)
	case *ast.GenericForStmt:
		a.block(t.Stmts)
	case *ast.FuncDefStmt:
		if name, ok := t.Name.Func.(*ast.IdentExpr); ok {
			a.names[name.Value] = true
		}
		a.block(t.Func.Stmts)
	case *ast.ReturnStmt:
		a.exprs(t.Exprs...)
	}
}

// exprs visits the functions in expressions, which may assign too.
func (a *assignedGlobals) exprs(all ...ast.Expr) {
	for _, e := range all {
		switch t := e.(type) {
		case *ast.FunctionExpr:
			a.block(t.Stmts)
		case *ast.FuncCallExpr:
			a.exprs(t.Func, t.Receiver)
			a.exprs(t.Args...)
		case *ast.TableExpr:
			for _, f := range t.Fields {
				a.exprs(f.Key, f.Value)
			}
		case *ast.LogicalOpExpr:
			a.exprs(t.Lhs, t.Rhs)
		case *ast.AttrGetExpr:
			a.exprs(t.Object, t.Key)
		}
	}
}
