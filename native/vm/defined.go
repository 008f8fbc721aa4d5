package vm

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// definedName returns the name under which a function is defined in a chunk, "" if
// it has none.
func definedName(chunk, p *lua.FunctionProto) string {
	for i, child := range chunk.FunctionPrototypes {
		if child == p {
			return storedAs(chunk, i)
		}
		if child.LineDefined <= p.LineDefined && p.LastLineDefined <= child.LastLineDefined {
			if name := definedName(child, p); name != "" {
				return name
			}
		}
	}
	return ""
}

// storedAs returns the name of the variable or field in which the function of
// index i in p is stored once it is made.
func storedAs(p *lua.FunctionProto, i int) string {
	for pc, inst := range p.Code {
		if opcodeOf(inst) != lua.OP_CLOSURE || operandBx(inst) != i {
			continue
		}
		a, made := operandA(inst), pc
		pc += int(p.FunctionPrototypes[i].NumUpvalues) + 1
		if pc >= len(p.Code) {
			return ""
		}
		s := site{frame: &callFrame{Fn: &lua.LFunction{Proto: p}}, pc: pc}
		name := ""
		switch next := p.Code[pc]; opcodeOf(next) {
		case lua.OP_SETGLOBAL:
			if operandA(next) == a {
				name = constantText(p, operandBx(next))
			}
		case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
			if operandC(next) == a {
				name = s.key(operandB(next))
			}
		case lua.OP_SETUPVAL:
			if b := operandB(next); operandA(next) == a && b < len(p.DbgUpvalues) {
				name = p.DbgUpvalues[b]
			}
		case lua.OP_MOVE, lua.OP_MOVEN:
			if operandB(next) == a {
				name, _ = localName(p, operandA(next), pc+1)
			}
		}
		if name == "" { // "local function f" or "local f = function"
			begins := []int{made, pc}
			if opcodeOf(p.Code[pc]) == lua.OP_LOADNIL && operandA(p.Code[pc]) > a {
				begins = append(begins, pc+1)
			}
			for _, begin := range begins {
				if l, ok := localIn(p, a, begin); ok && p.DbgLocals[l].StartPc == begin {
					name = p.DbgLocals[l].Name
				}
			}
		}
		if isShown(name) && name != "?" {
			return printable(name)
		}
		return ""
	}
	return ""
}

// printableMax is how many bytes of a name are shown.
const printableMax = 60

// printable returns a name as an error may show it: short, on one line.
func printable(name string) string {
	if len(name) > printableMax {
		name = strings.ToValidUTF8(name[:printableMax], "") + "..."
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || 0x80 <= c && c < 0xa0 || c == '\ufffd' {
			return '?'
		}
		return c
	}, name)
}
