package vm

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// candidatesMax bounds the fields of a table among which a name is searched.
const candidatesMax = 100

// hint returns what was probably meant, or "" if that isn't certain enough.
func (s site) hint(operation string, v variable, o operand) string {
	if v.kind == "local" && v.name == "self" && o.register == 0 && operation == opIndex && s.proto().NumParameters > 0 {
		return ": was the function called with a dot instead of a colon?"
	}
	if v.name == "?" {
		return s.keyHint(o.register)
	}
	if o.value != lua.LNil {
		return s.valueHint(operation, o)
	}
	if v.kind == "local" || v.kind == "upvalue" {
		return ""
	}
	hints := &Of(s.L).hints
	at := hintKey{s.proto(), s.pc}
	if hint, ok := (*hints)[at]; ok {
		return hint
	}
	hint := s.insteadHint(v, o)
	if hint == "" {
		if near := s.nearest(operation, v, o); near != "" {
			hint = fmt.Sprintf(", did you mean '%s'?", printable(near))
		}
	}
	if len(*hints) < hintsMax {
		if *hints == nil {
			*hints = map[hintKey]string{}
		}
		(*hints)[at] = hint
	}
	return hint
}

// insteadHint returns what to use instead of a name that scripts don't have.
func (s site) insteadHint(v variable, o operand) string {
	if instead := Of(s.L).instead; instead != nil {
		if text := instead(s.path(v, o.register)); text != "" {
			return ": " + text
		}
	}
	return ""
}

// hintKey is an instruction. The hint for it is searched once.
type hintKey struct {
	proto *lua.FunctionProto
	pc    int
}

// hintsMax bounds the instructions whose hints a run keeps.
const hintsMax = 100

// nearest returns the name that v was probably meant to be, "" if there is none.
func (s site) nearest(operation string, v variable, o operand) string {
	var tables []*lua.LTable
	var names []string
	switch v.kind {
	case "global":
		tables = fieldTables(s.frame.Fn.Env)
		names = s.variables()
	case "field", "method":
		if object, ok := s.holder(o.register); ok {
			tables = fieldTables(object)
		}
	}
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

// isNear quickly excludes most names that [spelling.Nearest] would exclude.
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
	case lua.LNumber, lua.LString:
		return operation == opArith || operation == opConcat
	}
	return false
}

// variables are the names of the local variables that are near and have a value.
func (s site) variables() (names []string) {
	p := s.proto()
	for register := 0; ; register++ {
		name, ok := localName(p, register, s.pc)
		if !ok {
			break
		}
		if isShown(name) && s.frame.register(s.L, register) != lua.LNil {
			names = append(names, name)
		}
	}
	for i, u := range s.frame.Fn.Upvalues {
		if i < len(p.DbgUpvalues) && isShown(p.DbgUpvalues[i]) && u.Value() != lua.LNil {
			names = append(names, p.DbgUpvalues[i])
		}
	}
	return names
}

// path returns the name of a global, or of a field of one, as a script writes it.
func (s site) path(v variable, register int) string {
	if v.kind != "field" {
		if v.kind == "global" {
			return v.name
		}
		return ""
	}
	pc, ok := lastChange(s.proto(), register, s.pc)
	if !ok {
		return ""
	}
	inst := s.proto().Code[pc]
	if op := opcodeOf(inst); op != lua.OP_GETTABLE && op != lua.OP_GETTABLEKS {
		return ""
	}
	if object := s.at(pc).variable(operandB(inst)); object.kind == "global" {
		return object.name + "." + v.name
	}
	return ""
}

// keyHint shows the key of a field that isn't written as a name.
func (s site) keyHint(register int) string {
	pc, ok := lastChange(s.proto(), register, s.pc)
	if !ok {
		return ""
	}
	inst := s.proto().Code[pc]
	if op := opcodeOf(inst); op != lua.OP_GETTABLE && op != lua.OP_GETTABLEKS {
		return ""
	}
	c := operandC(inst)
	if c&isConstant != 0 || c == operandA(inst) {
		return "" // it stands in the source, or was overwritten by the field
	}
	if v, ok := s.at(pc).value(c); ok {
		return keyText(v)
	}
	return ""
}

func keyText(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return fmt.Sprintf(": its key is %q", printable(string(v)))
	case lua.LNumber:
		return ": its key is " + v.String()
	}
	return ""
}

// valueHint says what can be done with a value that an operation doesn't take.
func (s site) valueHint(operation string, o operand) string {
	switch v := o.value.(type) {
	case lua.LString:
		if operation == opArith {
			return fmt.Sprintf(": %q is no number", printable(string(v)))
		}
	case *lua.LTable:
		if operation == opConcat {
			return ": table.concat joins a list, native.json.encode shows a table"
		}
	case lua.LBool:
		if operation == opConcat {
			return ": tostring makes a text of it"
		}
	case *lua.LNilType:
		if operation != opIndex {
			return ""
		}
		key := -1
		switch inst := s.inst(); opcodeOf(inst) {
		case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
			key = operandC(inst)
		case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
			key = operandB(inst)
		}
		if key >= 0 {
			if name := s.key(key); name != "?" {
				return fmt.Sprintf(", for its field '%s'", printable(name))
			}
		}
	}
	return ""
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
