package vm

import lua "github.com/yuin/gopher-lua"

// callSite returns the instruction that has called the Go function that runs now
// on L, and the register of the function. ok is false if no Lua function called it.
func callSite(L *lua.LState) (s site, register int, ok bool) {
	f := currentFrame(L)
	if f == nil || !f.Parent.isLua() {
		return site{}, 0, false
	}
	s = siteOf(L, f.Parent)
	if op := opcodeOf(s.inst()); op != lua.OP_CALL && op != lua.OP_TAILCALL {
		return site{}, 0, false
	}
	return s, operandA(s.inst()), true
}

// CalledAsMethod reports whether the Go function that runs now on L was called
// with a colon.
func CalledAsMethod(L *lua.LState) bool {
	s, register, ok := callSite(L)
	if !ok {
		return false
	}
	pc, ok := lastChange(s.proto(), register, s.pc)
	return ok && opcodeOf(s.proto().Code[pc]) == lua.OP_SELF
}

// CalledOn returns the name of the variable whose field is the Go function that
// runs now on L, "" if it was called otherwise.
func CalledOn(L *lua.LState) string {
	s, register, ok := callSite(L)
	if !ok {
		return ""
	}
	pc, ok := lastChange(s.proto(), register, s.pc)
	if !ok {
		return ""
	}
	switch inst := s.proto().Code[pc]; opcodeOf(inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		if v := s.at(pc).variable(operandB(inst)); v.kind != "" && v.name != "?" {
			return printable(v.name)
		}
	}
	return ""
}
