package native

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// Methods makes the metatable of a kind of handle: its functions, which scripts
// call with a colon, and its name, which is all that scripts see of it. It is
// never written again, so make it once and share it between all runs.
func Methods(name string, funcs ...Func) *lua.LTable {
	index := &lua.LTable{Metatable: lua.LNil}
	for _, f := range funcs {
		index.RawSetString(f.Name, f.function(name+":"+f.Name, true))
	}
	t := sealed(name, nil)
	t.RawSetString("__index", index)
	return t
}

// NewHandle makes a value by which a script holds v without seeing into it. Its
// methods come from [Methods]; nil makes a handle without any, for what a
// script only passes back to its module.
func NewHandle(v any, methods *lua.LTable) *lua.LUserData {
	h := &lua.LUserData{Value: v, Metatable: lua.LNil}
	if methods != nil {
		h.Metatable = methods
	}
	return h
}

// HandleOf returns what v is a handle of, and reports whether that is a T.
func HandleOf[T any](v lua.LValue) (T, bool) {
	if h, ok := v.(*lua.LUserData); ok {
		t, ok := h.Value.(T)
		return t, ok
	}
	var none T
	return none, false
}

// Self takes the handle that a method was called on off the call, so that the
// other arguments are counted from 1, as scripts count them. T is the type
// behind the handle, or an interface of it, and what names it in the error, with
// its article: "a stream". A method of tables has *lua.LTable as T.
func Self[T any](c *Call, what string) T {
	self, ok := HandleOf[T](c.Arg(1))
	if !ok {
		self, ok = c.Arg(1).(T)
	}
	if !ok {
		text := fmt.Sprintf("self: got %s, want %s: call it with a colon", kindOf(c, 1), what)
		if object := vm.CalledOn(c.L); object != "" {
			text += fmt.Sprintf(", %s:%s(...)", object, c.name)
		}
		c.BadArg(1, "%s", text)
	}
	c.L.Remove(1)
	return self
}

// kindOf names the type of argument n of c.
func kindOf(c *Call, n int) string {
	if n > c.NArgs() {
		return "no value"
	}
	return kind(c.Arg(n))
}

// kind names the type of v in Lua's words, and that of a handle by its name.
func kind(v lua.LValue) string {
	if h, ok := v.(*lua.LUserData); ok {
		if meta, ok := h.Metatable.(*lua.LTable); ok {
			if name, ok := meta.RawGetString("__metatable").(lua.LString); ok {
				return string(name)
			}
		}
	}
	return v.Type().String()
}
