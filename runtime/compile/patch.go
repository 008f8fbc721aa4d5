package compile

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// patcher corrects the bytecode that gopher-lua's compiler has made.
type patcher struct {
	file       string
	jumps      []jump
	intrinsics map[lua.LValue]*lua.LFunction // by the literal that stands for each
	bytes      int                           // of all protos, estimated
}

// patch corrects proto and all protos in it. It panics with a [*SyntaxError] if
// one is too long for its jumps.
func (p *patcher) patch(proto *lua.FunctionProto) {
	// A chunk has no variable arg. gopher-lua makes the table for it all the same.
	proto.IsVarArg &^= lua.VarArgNeedsArg
	todo := []*lua.FunctionProto{proto}
	for len(todo) > 0 {
		fn := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], fn.FunctionPrototypes...)
		if len(fn.Code) > codeMax {
			panic(&SyntaxError{File: p.file, Line: fn.LineDefined, Message: fmt.Sprintf(
				"function has too many instructions (%d, limit is %d)", len(fn.Code), codeMax)})
		}
		p.fixGotos(fn)
		hintFields(fn.Code)
		for i, c := range fn.Constants {
			if function, ok := p.intrinsics[c]; ok {
				fn.Constants[i] = function
			}
		}
		for i := range fn.DbgCalls {
			fn.DbgCalls[i].Name = callName(fn.DbgCalls[i].Name)
		}
		clip(fn)
		p.bytes += size(fn)
	}
}

// fixGotos puts the real line into a goto's instructions and makes its CLOSE
// begin at the first variable that the goto leaves. gopher-lua mostly begins at
// the function's first, which cuts live locals off from their closures.
func (p *patcher) fixGotos(fn *lua.FunctionProto) {
	for pc, line := range fn.DbgSourcePositions {
		if line < gotoLine {
			continue
		}
		j := p.jumps[line-gotoLine]
		fn.DbgSourcePositions[pc] = j.line
		if opcode(fn.Code[pc]) == lua.OP_CLOSE {
			fn.Code[pc] = withA(fn.Code[pc], j.active)
		}
	}
}

// hintFields makes "{}" make a small map at once. Without a hint the first field
// of a table, which may be an element of a list beyond its array too, makes room
// for 32, which is 2.8 kB per table.
func hintFields(code []uint32) {
	for pc, inst := range code {
		if opcode(inst) == lua.OP_NEWTABLE && argB(inst) == 0 && argC(inst) == 0 {
			code[pc] = withC(inst, 1)
		}
	}
}

// An instruction has 6 bits of opcode, 8 of A, 9 of C and 9 of B.
func opcode(inst uint32) int          { return int(inst >> 26) }
func argC(inst uint32) int            { return int(inst >> 9 & 0x1ff) }
func argB(inst uint32) int            { return int(inst & 0x1ff) }
func withA(inst uint32, a int) uint32 { return inst&^(0xff<<18) | uint32(a)<<18 }
func withC(inst uint32, c int) uint32 { return inst&^(0x1ff<<9) | uint32(c)<<9 }

// callName returns the name of a called function as tracebacks may show it. An empty
// one makes gopher-lua panic while it builds the traceback.
func callName(name string) string {
	if name == "" {
		return "?"
	}
	return printable(name)
}

// clip gives back the spare capacity of the compiler's slices: about 16 kB per
// function.
func clip(p *lua.FunctionProto) {
	p.Code = slices.Clone(p.Code)
	p.Constants = slices.Clone(p.Constants)
	p.FunctionPrototypes = slices.Clone(p.FunctionPrototypes)
	p.DbgSourcePositions = slices.Clone(p.DbgSourcePositions)
	p.DbgLocals = slices.Clone(p.DbgLocals)
	p.DbgCalls = slices.Clone(p.DbgCalls)
	p.DbgUpvalues = slices.Clone(p.DbgUpvalues)
}

// size estimates the bytes that p alone keeps alive.
func size(p *lua.FunctionProto) int {
	const (
		proto       = 800 // with the 32 strings that every proto has room for
		instruction = 4 + 8
		constant    = 2*16 + 32
		dbgLocal    = 8 + 48
		dbgCall     = 24
		dbgUpvalue  = 16
	)
	text := 0
	for _, c := range p.Constants {
		if s, ok := c.(lua.LString); ok {
			text += len(s)
		}
	}
	return proto + text + len(p.Code)*instruction + len(p.Constants)*constant +
		len(p.DbgLocals)*dbgLocal + len(p.DbgCalls)*dbgCall + len(p.DbgUpvalues)*dbgUpvalue
}
