package vm

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// candidatesMax bounds the fields of a table among which a name is searched.
const candidatesMax = 100

// hint says what was probably meant, where that is certain enough: the only near
// name among those for which the operation would work.
func (s site) hint(operation string, v variable, o operand) string {
	if v.kind == "local" && v.name == "self" && o.register == 0 && operation == opIndex && s.proto().NumParameters > 0 {
		return ": was the function called with a dot instead of a colon?"
	}
	if o.value != lua.LNil || operation != opCall && operation != opIndex || v.name == "?" {
		return ""
	}
	hints := &Of(s.L).hints
	at := hintKey{s.proto(), s.pc}
	if hint, ok := (*hints)[at]; ok {
		return hint
	}
	hint := ""
	if near := s.nearest(operation, v, o); near != "" {
		hint = fmt.Sprintf(", did you mean '%s'?", printable(near))
	}
	if len(*hints) < hintsMax {
		if *hints == nil {
			*hints = map[hintKey]string{}
		}
		(*hints)[at] = hint
	}
	return hint
}

// hintKey is an instruction. What was meant by its name is searched once.
type hintKey struct {
	proto *lua.FunctionProto
	pc    int
}

// hintsMax bounds the instructions whose hints a run keeps.
const hintsMax = 100

// nearest returns the name that v was probably meant to be, "" if there is none.
func (s site) nearest(operation string, v variable, o operand) string {
	var tables []*lua.LTable
	switch v.kind {
	case "global":
		tables = fieldTables(s.frame.Fn.Env)
	case "field", "method":
		if object, ok := s.holder(o.register); ok {
			tables = fieldTables(object)
		}
	}
	var names []string
	visited := 0
	for _, t := range tables {
		for key, value := t.Next(lua.LNil); key != lua.LNil && visited < candidatesMax; key, value = t.Next(key) {
			visited++
			if name, ok := key.(lua.LString); ok && takes(operation, value) && isNear(string(name), v.name) {
				names = append(names, string(name))
			}
		}
	}
	slices.Sort(names) // the first of those that are equally near, always
	return spelling.Nearest(v.name, names)
}

// isNear excludes most names at once that [spelling.Nearest] would.
func isNear(a, b string) bool {
	if a == b {
		return false
	}
	if short := min(len(a), len(b), 3); a[:short] == b[:short] {
		return true
	}
	d := len(a) - len(b)
	return max(d, -d) <= (len(b)+2)/3
}

// takes reports whether an operation works on a value.
func takes(operation string, v lua.LValue) bool {
	switch v.(type) {
	case *lua.LFunction:
		return operation == opCall
	case *lua.LTable, *lua.LUserData:
		return operation == opIndex
	}
	return false
}

// holder returns the value whose field was read into a register.
func (s site) holder(register int) (lua.LValue, bool) {
	pc, ok := lastChange(s.proto(), register, s.pc)
	if !ok {
		return nil, false
	}
	inst := s.proto().Code[pc]
	switch opcodeOf(inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return s.at(pc).value(operandB(inst))
	case lua.OP_SELF:
		return s.frame.register(s.L, operandA(inst)+1), true
	case lua.OP_MOVE, lua.OP_MOVEN:
		return s.at(pc).holder(operandB(inst))
	}
	return nil, false
}
