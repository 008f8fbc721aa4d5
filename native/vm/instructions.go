package vm

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/numeral"
)

// Some instructions of gopher-lua give other results than Lua 5.1. There is no
// other place at which a script's # or % can be told from Go without the cost of a
// call, so the functions that execute them are replaced, for the whole process:
// each does what is missing, and leaves the rest to the one that it replaces.

// instruction executes an instruction of the innermost Lua function.
type instruction func(L *lua.LState, inst uint32, base unsafe.Pointer) int

//go:linkname instructions github.com/yuin/gopher-lua.jumpTable
var instructions [lua.OP_NOP + 1]instruction

func replaceInstructions() {
	replace(lua.OP_LEN, lengthInstruction)
	replace(lua.OP_MOD, moduloInstruction)
	replace(lua.OP_UNM, minusInstruction)
	replace(lua.OP_FORPREP, forInstruction)
}

// replace makes with the function that executes an instruction. with is given
// the one that it replaces.
func replace(opcode int, with func(original instruction) instruction) {
	instructions[opcode] = with(instructions[opcode])
}

// registers are those of the innermost Lua function of a thread, from its
// register 0 on.
func registers(L *lua.LState) []lua.LValue {
	s := state(L)
	return s.reg.array[s.currentFrame.LocalBase:]
}

const (
	operandA = 18       // an instruction has register A from this bit on
	operandC = 9        // operand C
	operand  = 0x1ff    // the bits of operands B and C
	constant = 1 << 8   // in an operand: a constant, not a register
	register = 1<<8 - 1 // the bits of a register or the number of a constant
)

func registerA(inst uint32) int { return int(inst >> operandA & register) }

// valueOf returns the value of operand B or C.
func valueOf(L *lua.LState, operand uint32) lua.LValue {
	if operand&constant != 0 {
		return state(L).currentFrame.Fn.Proto.Constants[operand&register]
	}
	return registers(L)[operand]
}

// setA puts the result of an instruction into its register A.
func setA(L *lua.LState, inst uint32, v lua.LValue) int {
	s := state(L)
	i := s.currentFrame.LocalBase + registerA(inst)
	s.reg.array[i] = v
	s.reg.top = max(s.reg.top, i+1)
	return 0
}

// lengthInstruction is #, for lists that are longer than an array can be, and
// without visiting removed elements again.
func lengthInstruction(original instruction) instruction {
	return func(L *lua.LState, inst uint32, base unsafe.Pointer) int {
		t, ok := valueOf(L, inst&operand).(*lua.LTable)
		if !ok {
			return original(L, inst, base)
		}
		array := *Array(t)
		if n := len(array); n == 0 || n < ArrayMax && !isNil(array[n-1]) {
			return original(L, inst, base)
		}
		if meta, ok := t.Metatable.(*lua.LTable); ok && meta.RawGetString("__len") != lua.LNil {
			return original(L, inst, base)
		}
		if n := Len(t); n >= ArrayMax {
			return setA(L, inst, lua.LNumber(n))
		}
		return original(L, inst, base)
	}
}

// moduloInstruction is a % b as Lua defines it, a - floor(a/b)*b: the remainder
// of the division, which the original computes, is another number where b is no
// integer or infinite.
func moduloInstruction(original instruction) instruction {
	return func(L *lua.LState, inst uint32, base unsafe.Pointer) int {
		x, ok1 := valueOf(L, inst&operand).(lua.LNumber)
		y, ok2 := valueOf(L, inst>>operandC&operand).(lua.LNumber)
		if !ok1 || !ok2 {
			return original(L, inst, base)
		}
		a, b := int32(x), int32(y)
		if lua.LNumber(a) != x || lua.LNumber(b) != y || b == 0 {
			return setA(L, inst, lua.LNumber(numeral.Modulo(float64(x), float64(y))))
		}
		n := int64(a) % int64(b)
		if n != 0 && (n < 0) != (b < 0) {
			n += int64(b)
		}
		if 0 <= n && n < int64(len(smallNumbers)) {
			return setA(L, inst, smallNumbers[n])
		}
		return setA(L, inst, lua.LNumber(n))
	}
}

// smallNumbers are values that needn't be allocated.
var smallNumbers = func() (numbers [256]lua.LValue) {
	for i := range numbers {
		numbers[i] = lua.LNumber(i)
	}
	return numbers
}()

// minusInstruction passes the operand of - twice to its metamethod, as Lua does.
func minusInstruction(original instruction) instruction {
	return func(L *lua.LState, inst uint32, base unsafe.Pointer) int {
		v := valueOf(L, inst&operand)
		if _, number := v.(lua.LNumber); number {
			return original(L, inst, base)
		}
		method := L.GetMetaField(v, "__unm")
		if method == lua.LNil {
			return original(L, inst, base)
		}
		L.Push(method)
		L.Push(v)
		L.Push(v)
		L.Call(2, 1)
		result := L.Get(-1)
		L.Pop(1)
		return setA(L, inst, result)
	}
}

// forParts names the registers from which a numeric for begins, as its errors do.
var forParts = [...]string{"initial value", "limit", "step"}

// forInstruction takes strings as the bounds of a numeric for.
func forInstruction(original instruction) instruction {
	return func(L *lua.LState, inst uint32, base unsafe.Pointer) int {
		parts := registers(L)[registerA(inst):]
		for i, name := range forParts {
			if _, ok := parts[i].(lua.LNumber); ok {
				continue
			}
			text, _ := parts[i].(lua.LString)
			x, ok := numeral.Parse(string(text))
			if !ok {
				L.RaiseError("'for' %s must be a number", name)
			}
			parts[i] = lua.LNumber(x)
		}
		return original(L, inst, base)
	}
}
