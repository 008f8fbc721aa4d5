package lualib

import lua "github.com/yuin/gopher-lua"

var protectFunctions = []function{
	{"pcall", basePCall},
	{"xpcall", baseXPCall},
}

// debugFunctions is the part of debug that can't reach into frames.
var debugFunctions = []function{
	{"traceback", debugTraceback},
}

func basePCall(c call) int {
	f := c.any(1)
	if !callable(c.LState, f) {
		return c.retError(uncallable(f))
	}
	n := c.GetTop() - 1
	c.Push(lua.LTrue)
	results, err := c.run().PCall(c.LState, 1, n)
	if err != nil {
		return c.retError(err)
	}
	return 1 + results
}

func baseXPCall(c call) int {
	handler := c.any(2)
	n := c.GetTop() - 2
	c.Replace(2, c.Get(1)) // in front of its arguments, which Lua 5.2 passes
	c.Push(lua.LTrue)
	results, err := c.run().XPCall(c.LState, 2, n, handler)
	if err != nil {
		return c.retError(err)
	}
	return 1 + results
}

// retError returns false and the error.
func (c call) retError(err lua.LValue) int {
	c.Push(lua.LFalse)
	c.Push(err)
	return 2
}

func callable(L *lua.LState, v lua.LValue) bool {
	if v.Type() == lua.LTFunction {
		return true
	}
	_, ok := L.GetMetaField(v, "__call").(*lua.LFunction)
	return ok
}

func uncallable(v lua.LValue) lua.LString {
	return lua.LString("attempt to call a " + v.Type().String() + " value")
}

// debugTraceback returns a message with the stack of the present thread below
// it. A message that is neither a string nor nil comes back as it is.
func debugTraceback(c call) int {
	first := 1
	if c.Get(1).Type() == lua.LTThread {
		first = 2 // only the present thread has a stack that can be read
	}
	message := c.Get(first)
	if message != lua.LNil && !lua.LVCanConvToString(message) {
		return c.ret(message)
	}
	text := buffer{run: c.run()}
	if message != lua.LNil {
		text.text(c.text(first))
		text.text("\n")
	}
	text.text("stack traceback:")
	for level := c.integerOr(first+1, 1); level <= c.Options.CallStackSize; level++ {
		where, ok := frame(c.LState, level)
		if !ok {
			break
		}
		text.text("\n\t")
		text.text(where)
	}
	return c.retText(text.String())
}

// frame describes the function at a level of the stack: where it is, and its
// name.
func frame(L *lua.LState, level int) (string, bool) {
	if level < 0 {
		return "", false
	}
	f, ok := L.GetStack(level)
	if !ok {
		return "", false
	}
	if _, err := L.GetInfo("nSl", f, lua.LNil); err != nil {
		return "", false
	}
	switch {
	case f.What == "G":
		return "[native]: in function '" + f.Name + "'", true
	case f.What == "main":
		return L.Where(level) + " in main chunk", true
	}
	return L.Where(level) + " in function '" + f.Name + "'", true
}
