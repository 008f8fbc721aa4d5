package compile

import (
	"fmt"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// gotoLine plus the index of a goto statement is the line that gopher-lua is
// given for it. The patcher finds the statement's instructions by that line and
// puts the real one back.
const gotoLine = 1 << 30

// jump is a goto statement: its line, and how many local variables are alive at
// its label. gopher-lua often closes those too.
type jump struct{ line, active int }

// headName is a local at the head of a body that could begin with a jump.
// gopher-lua shortens chains of jumps, and gets the target wrong when a jump
// back meets another jump, so no such target may be a jump. A label needs no
// such local: the only jump that can follow it leaves the loop, and no goto is
// behind that.
const headName = "(head)"

func (r *rewriter) while(s *ast.WhileStmt) ast.Stmt {
	r.countTargets(3)
	s.Condition = r.expr(s.Condition)
	switch truth(s.Condition) {
	case never:
		return positioned(&ast.DoBlockStmt{}, s)
	case always: // no instruction stands between the loop's begin and its body
		l := r.enterLoop()
		s.Stmts = r.jumpTargetBody(s, s.Stmts)
		return r.leaveLoop(s, l)
	}
	l := r.enterLoop()
	s.Stmts = r.stmts(s.Stmts)
	return r.leaveLoop(s, l)
}

func (r *rewriter) repeat(s *ast.RepeatStmt) ast.Stmt {
	r.countTargets(4)
	l := r.enterLoop()
	l.until = true
	s.Stmts = r.jumpTargetBody(s, s.Stmts)
	s.Condition = r.expr(s.Condition)
	return r.leaveLoop(s, l)
}

func (r *rewriter) numberFor(s *ast.NumberForStmt) ast.Stmt {
	r.countTargets(1)
	if before := r.bounds(s); before != nil {
		r.enter(nil)
		r.declare(before.Names...)
		loop := r.numberForBody(s)
		r.leave()
		return positioned(&ast.DoBlockStmt{Stmts: []ast.Stmt{before, loop}}, s)
	}
	return r.numberForBody(s)
}

func (r *rewriter) numberForBody(s *ast.NumberForStmt) ast.Stmt {
	l := r.enterLoop("(for index)", "(for limit)", "(for step)", s.Name)
	s.Stmts = r.stmts(s.Stmts)
	return r.leaveLoop(s, l)
}

// iterator names the locals that keep the iterator of a loop.
var iterator = []string{"(iterator)", "(iterated)", "(iteration)"}

func (r *rewriter) genericFor(s *ast.GenericForStmt) ast.Stmt {
	n := len(s.Exprs)
	if slices.ContainsFunc(s.Exprs, takesRegisters) || n > len(iterator) || n == 2 && multiple(s.Exprs[1]) {
		// gopher-lua evaluates these registers below the free ones, and a call in
		// front of a field or a method overwrites what it needs. In a local
		// statement it doesn't.
		before := positioned(&ast.LocalAssignStmt{Names: iterator, Exprs: s.Exprs}, s)
		s.Exprs = nil
		for _, name := range iterator {
			s.Exprs = append(s.Exprs, positioned(&ast.IdentExpr{Value: name}, s))
		}
		return r.stmt(positioned(&ast.DoBlockStmt{Stmts: []ast.Stmt{before, s}}, s))
	}
	r.countTargets(3)
	r.exprs(s.Exprs)
	s.Exprs = threeValues(s.Exprs, s)
	l := r.enterLoop("(for generator)", "(for state)", "(for control)")
	r.declare(s.Names...)
	s.Stmts = r.jumpTargetBody(s, s.Stmts)
	return r.leaveLoop(s, l)
}

// threeValues makes expressions have three values, unless they are a single call
// or "...". gopher-lua makes as many as the loop has variables.
func threeValues(exprs []ast.Expr, origin ast.PositionHolder) []ast.Expr {
	last := exprs[len(exprs)-1]
	if len(exprs) == 1 && multiple(last) {
		return exprs
	}
	single(last)
	for len(exprs) < len(iterator) {
		exprs = append(exprs, positioned(&ast.NilExpr{}, origin))
	}
	return exprs
}

// takesRegisters reports whether an iterator's expression needs registers of its
// own. A call of a function, a method of a variable, a variable and a constant
// don't.
func takesRegisters(e ast.Expr) bool {
	switch t := e.(type) {
	case *ast.FuncCallExpr:
		return t.Receiver != nil && !isPath(t.Receiver) || t.Func != nil && !isPath(t.Func)
	case ast.ConstExpr, *ast.Comma3Expr:
		return false
	}
	return !isPath(e)
}

// isPath reports whether an expression is a variable, or a.b.c of one.
func isPath(e ast.Expr) bool {
	field, ok := e.(*ast.AttrGetExpr)
	if !ok {
		_, ok = e.(*ast.IdentExpr)
		return ok
	}
	_, named := field.Key.(*ast.StringExpr)
	return named && isPath(field.Object)
}

// enterLoop begins a loop's scope with the given variables.
func (r *rewriter) enterLoop(names ...string) *loop {
	l := &loop{active: r.fn.block.active()}
	r.enter(l)
	r.declare(names...)
	return l
}

// jumpTargetBody rewrites the body of loop s, whose first instruction is the
// target of a jump back.
func (r *rewriter) jumpTargetBody(s ast.Stmt, body []ast.Stmt) []ast.Stmt {
	if !mayBeginWithJump(body) {
		return r.stmts(body)
	}
	r.declare(headName)
	return append([]ast.Stmt{head(s)}, r.stmts(body)...)
}

// leaveLoop ends the loop's scope and puts a label behind it if a break became a
// goto.
func (r *rewriter) leaveLoop(s ast.Stmt, l *loop) ast.Stmt {
	r.leave()
	if l.exit == "" {
		return s
	}
	exit := positioned(&ast.LabelStmt{Name: l.exit}, s)
	return positioned(&ast.DoBlockStmt{Stmts: []ast.Stmt{s, exit}}, s)
}

func head(origin ast.PositionHolder) ast.Stmt {
	s := &ast.LocalAssignStmt{Names: []string{headName}}
	s.SetLine(origin.Line())
	return s
}

// mayBeginWithJump reports whether the first instruction of stmts might be a
// jump, or might not exist.
func mayBeginWithJump(stmts []ast.Stmt) bool {
	if len(stmts) == 0 {
		return true
	}
	switch s := stmts[0].(type) {
	case *ast.BreakStmt, *ast.LabelStmt:
		return true
	case *ast.DoBlockStmt:
		return mayBeginWithJump(s.Stmts)
	case *ast.RepeatStmt:
		return mayBeginWithJump(s.Stmts)
	case *ast.IfStmt:
		return mayFold(s.Condition)
	case *ast.WhileStmt:
		return mayFold(s.Condition)
	}
	return false
}

// breakLoop rewrites a break. gopher-lua leaves variables open that a closure
// has captured in blocks between the break and its loop; a goto closes them.
func (r *rewriter) breakLoop(s *ast.BreakStmt) ast.Stmt {
	captured := false
	for b := r.fn.block; b != nil; b = b.parent {
		if b.loop == nil {
			captured = captured || b.captured
			continue
		}
		if !captured || b.captured {
			return s
		}
		if b.loop.exit == "" {
			r.loops++
			r.countTargets(1)
			b.loop.exit = fmt.Sprintf("(loop %d)", r.loops)
		}
		g := &ast.GotoStmt{Label: b.loop.exit}
		r.recordGoto(g, jump{line: s.Line(), active: b.loop.active})
		return g
	}
	r.fail(s.Line(), "no loop to break near 'break'")
	return nil
}

// recordGoto notes g as the goto statement j.
func (r *rewriter) recordGoto(g *ast.GotoStmt, j jump) {
	r.fn.gotos++
	g.SetLine(gotoLine + len(r.jumps))
	g.SetLastLine(j.line) // gopher-lua takes the line of a block's end from it
	r.jumps = append(r.jumps, j)
}

func (r *rewriter) gotoLabel(s *ast.GotoStmt) {
	here := r.fn.block
	index := len(r.jumps)
	r.recordGoto(s, jump{line: s.Line(), active: here.active()})
	for b := here; b != nil; b = b.parent {
		r.spend(1)
		if l, ok := b.labels[s.Label]; ok {
			r.jumps[index].active = l.active
			return
		}
	}
	here.pending = append(here.pending, pendingGoto{name: s.Label, jump: index, active: here.active()})
}

// label notes a label. last means that only labels follow it in its block, whose
// variables are no longer in scope then.
func (r *rewriter) label(s *ast.LabelStmt, last bool) {
	r.countTargets(1)
	b := r.fn.block
	r.spend(r.fn.gotos - b.gotos)
	if old, ok := b.labels[s.Name]; ok {
		r.fail(s.Line(), "label '%s' already defined on line %d", s.Name, old.line)
	}
	l := label{active: b.active(), line: s.Line()}
	if last {
		l.active = b.first
	}
	if b.labels == nil {
		b.labels = map[string]label{}
	}
	b.labels[s.Name] = l
	pending := b.pending[:0]
	for _, g := range b.pending {
		switch {
		case g.name != s.Name:
			pending = append(pending, g)
		case g.active < l.active:
			name := b.names[g.active-b.first]
			r.fail(r.jumps[g.jump].line, "<goto %s> jumps into the scope of local '%s'", s.Name, name)
		default:
			r.jumps[g.jump].active = l.active
		}
	}
	b.pending = pending
}
