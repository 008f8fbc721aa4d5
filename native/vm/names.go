package vm

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file finds out what a script calls a value that is in a register: it reads
// the instructions before, as Lua 5.1 does for its error messages.

// An instruction has 6 bits of opcode, 8 of A, 9 of C and 9 of B. A bit of B and
// C says that they are constants.
func opcodeOf(inst uint32) int { return int(inst >> 26) }
func operandA(inst uint32) int { return int(inst >> 18 & 0xff) }
func operandB(inst uint32) int { return int(inst & 0x1ff) }
func operandC(inst uint32) int { return int(inst >> 9 & 0x1ff) }
func operandBx(inst uint32) int {
	return int(inst & 0x3ffff)
}
func jumpOffset(inst uint32) int { return operandBx(inst) - 0x1ffff }

const isConstant = 1 << 8 // in operand B or C

// isShown reports whether a name is the script's own. The compiler's begin with a
// parenthesis.
func isShown(name string) bool { return name != "" && !strings.HasPrefix(name, "(") }

// site is an instruction of a function that is open.
type site struct {
	L     *lua.LState
	frame *callFrame
	pc    int
}

func siteOf(L *lua.LState, f *callFrame) site { return site{L, f, f.Pc - 1} }

func (s site) proto() *lua.FunctionProto { return s.frame.Fn.Proto }
func (s site) inst() uint32              { return s.proto().Code[s.pc] }
func (s site) at(pc int) site            { return site{s.L, s.frame, pc} }

// variable is how a script names a value.
type variable struct {
	kind string // "local", "upvalue", "global", "field", "method"; "" is none
	name string
}

// String returns what stands before the value's type: "local 'x'".
func (v variable) String() string { return v.kind + " '" + printable(v.name) + "'" }

// namesDepth bounds how many moves between registers are followed.
const namesDepth = 8

// variable returns what the script calls the value in a register. It is none for
// results of calls and of operators.
func (s site) variable(register int) variable { return s.variableWithin(register, namesDepth) }

func (s site) variableWithin(register, depth int) variable {
	p := s.proto()
	if name, ok := localName(p, register, s.pc); ok && isShown(name) {
		return variable{"local", name}
	}
	pc, ok := lastChange(p, register, s.pc)
	if !ok || depth == 0 {
		return variable{}
	}
	switch inst := p.Code[pc]; opcodeOf(inst) {
	case lua.OP_GETGLOBAL:
		return variable{"global", constantText(p, operandBx(inst))}
	case lua.OP_MOVE, lua.OP_MOVEN:
		return s.at(pc).variableWithin(operandB(inst), depth-1)
	case lua.OP_GETUPVAL:
		if b := operandB(inst); b < len(p.DbgUpvalues) && isShown(p.DbgUpvalues[b]) {
			return variable{"upvalue", p.DbgUpvalues[b]}
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return variable{"field", s.at(pc).key(operandC(inst))}
	case lua.OP_SELF:
		if operandA(inst) == register {
			return variable{"method", s.at(pc).key(operandC(inst))}
		}
		return s.at(pc).variableWithin(operandB(inst), depth-1)
	}
	return variable{}
}

// key returns the name of a field, "?" for a key that isn't written as a name.
func (s site) key(operand int) string {
	p := s.proto()
	if operand&isConstant != 0 {
		return constantText(p, operand&^isConstant)
	}
	// The numbers of later constants have no room in an operand.
	if pc, ok := lastChange(p, operand, s.pc); ok && opcodeOf(p.Code[pc]) == lua.OP_LOADK {
		if name, ok := localName(p, operand, s.pc); !ok || !isShown(name) {
			return constantText(p, operandBx(p.Code[pc]))
		}
	}
	return "?"
}

func constantText(p *lua.FunctionProto, index int) string {
	if index < len(p.Constants) {
		if text, ok := p.Constants[index].(lua.LString); ok && text != "" {
			return string(text)
		}
	}
	return "?"
}

// localName returns the name of the local variable in a register at an
// instruction.
func localName(p *lua.FunctionProto, register, pc int) (string, bool) {
	i, ok := localIn(p, register, pc)
	if !ok {
		return "", false
	}
	return p.DbgLocals[i].Name, true
}

// localIn returns the index of the local variable in a register. They lie in
// registers in the order of their declarations.
func localIn(p *lua.FunctionProto, register, pc int) (int, bool) {
	for i, l := range p.DbgLocals {
		if l.StartPc > pc {
			break
		}
		if pc > l.EndPc {
			continue
		}
		if register == 0 {
			return i, true
		}
		register--
	}
	return 0, false
}

// lastChange returns the instruction before end that has last set a register, as
// far as that can be told without running it. Jumps forward are followed.
func lastChange(p *lua.FunctionProto, register, end int) (last int, ok bool) {
	for pc := 0; pc < end; pc++ {
		inst := p.Code[pc]
		a := operandA(inst)
		changes := false
		switch opcodeOf(inst) {
		case lua.OP_MOVE, lua.OP_MOVEN, lua.OP_LOADK, lua.OP_LOADBOOL, lua.OP_GETUPVAL, lua.OP_GETGLOBAL,
			lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_NEWTABLE, lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV,
			lua.OP_MOD, lua.OP_POW, lua.OP_UNM, lua.OP_NOT, lua.OP_LEN, lua.OP_CONCAT, lua.OP_TESTSET, lua.OP_CLOSURE:
			changes = a == register
		case lua.OP_LOADNIL:
			changes = a <= register && register <= operandB(inst)
		case lua.OP_SELF:
			changes = a == register || a+1 == register
		case lua.OP_CALL, lua.OP_TAILCALL, lua.OP_VARARG:
			changes = register >= a
		case lua.OP_TFORLOOP:
			changes = register >= a+3
		case lua.OP_FORLOOP, lua.OP_FORPREP:
			changes = a <= register && register <= a+3
		}
		if changes {
			last, ok = pc, true
		}
		switch opcodeOf(inst) {
		case lua.OP_JMP:
			if to := pc + 1 + jumpOffset(inst); pc < to && to <= end {
				pc = to - 1
			}
		case lua.OP_LOADBOOL:
			if operandC(inst) != 0 && pc+2 <= end {
				pc++
			}
		case lua.OP_CLOSURE: // what it captures follows as instructions
			if i := operandBx(inst); i < len(p.FunctionPrototypes) {
				pc += int(p.FunctionPrototypes[i].NumUpvalues)
			}
		}
	}
	return last, ok
}

// value returns the value that an instruction reads from a register, if it can
// still be found: it may have been overwritten by what was made of it.
func (s site) value(register int) (lua.LValue, bool) { return s.valueWithin(register, namesDepth) }

func (s site) valueWithin(register, depth int) (lua.LValue, bool) {
	p := s.proto()
	if name, ok := localName(p, register, s.pc); ok && isShown(name) {
		return s.frame.register(s.L, register), true
	}
	pc, ok := lastChange(p, register, s.pc)
	if !ok || depth == 0 {
		return nil, false
	}
	switch inst := p.Code[pc]; opcodeOf(inst) {
	case lua.OP_GETGLOBAL:
		return rawField(s.frame.Fn.Env, constantText(p, operandBx(inst))), true
	case lua.OP_MOVE, lua.OP_MOVEN:
		return s.at(pc).valueWithin(operandB(inst), depth-1)
	case lua.OP_GETUPVAL:
		if b := operandB(inst); b < len(s.frame.Fn.Upvalues) {
			return s.frame.Fn.Upvalues[b].Value(), true
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		object, ok := s.at(pc).valueWithin(operandB(inst), depth-1)
		if !ok {
			return nil, false
		}
		key := s.at(pc).key(operandC(inst))
		for _, t := range fieldTables(object) {
			if v := rawField(t, key); v != lua.LNil {
				return v, true
			}
		}
	}
	return nil, false
}

func rawField(t *lua.LTable, key string) lua.LValue {
	Materialize(t)
	return t.RawGetString(key)
}

// fieldTables returns the tables in which a value's fields are looked up.
func fieldTables(v lua.LValue) (tables []*lua.LTable) {
	for range namesDepth {
		var meta lua.LValue
		switch v := v.(type) {
		case *lua.LTable:
			Materialize(v)
			tables = append(tables, v)
			meta = v.Metatable
		case *lua.LUserData:
			meta = v.Metatable
		}
		t, ok := meta.(*lua.LTable)
		if !ok {
			break
		}
		v = t.RawGetString("__index")
	}
	return tables
}
