package native

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// luaNull is null as scripts see it: one value for the whole process, equal
// only to itself.
var luaNull lua.LValue = &lua.LUserData{Metatable: sealed("null", map[string]lua.LGFunction{
	"__tostring": func(L *lua.LState) int { L.Push(lua.LString("null")); return 1 },
})}

// LuaNull returns null as scripts see it.
func LuaNull() lua.LValue { return luaNull }

// listMark is the metatable of tables that are lists even when they are empty.
var listMark = sealed("list", nil)

// errorMark is the metatable of the tables that native calls raise.
var errorMark = sealed("error", map[string]lua.LGFunction{
	"__tostring": func(L *lua.LState) int { L.Push(errorText(L.Get(1))); return 1 },
	"__concat":   func(L *lua.LState) int { L.Push(errorText(L.Get(1)) + errorText(L.Get(2))); return 1 },
})

// sealed makes a metatable that scripts can neither see nor replace: getmetatable
// returns name in its place. It is never written again, so all runs share it.
func sealed(name string, methods map[string]lua.LGFunction) *lua.LTable {
	t := &lua.LTable{Metatable: lua.LNil}
	t.RawSetString("__metatable", lua.LString(name))
	for event, fn := range methods {
		t.RawSetString(event, vm.NewFunction(fn))
	}
	return t
}

// MarkList marks t as a list and returns it.
func MarkList(t *lua.LTable) *lua.LTable {
	t.Metatable = listMark
	return t
}

// IsList reports whether t is marked as a list.
func IsList(t *lua.LTable) bool { return t.Metatable == listMark }

// errorTable is an error as scripts see it.
func errorTable(e *outcome.Error) *lua.LTable {
	t := &lua.LTable{Metatable: errorMark}
	set := func(name, value string) {
		if value != "" {
			t.RawSetString(name, lua.LString(value))
		}
	}
	set("code", e.Code)
	set("message", e.Message)
	set("op", e.Op)
	set("key", e.Key)
	set("applied", e.Applied)
	t.RawSetString("retryable", lua.LBool(e.Retryable))
	return t
}

// errorText is the line that an error table prints as; other operands of a
// concatenation stay what they are.
func errorText(v lua.LValue) lua.LString {
	if e := ErrorOf(v); e != nil {
		return lua.LString(e.Error())
	}
	if lua.LVCanConvToString(v) {
		return lua.LString(v.String())
	}
	return lua.LString(v.Type().String())
}

// ErrorOf reads the fields of an error table back, even of one that a script has
// made. It returns nil if v is not a table with a string as code.
func ErrorOf(v lua.LValue) *outcome.Error {
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil
	}
	text := func(name string) string {
		s, _ := t.RawGetString(name).(lua.LString)
		return string(s)
	}
	if text("code") == "" {
		return nil
	}
	return &outcome.Error{
		Code: text("code"), Message: text("message"), Op: text("op"), Key: text("key"), Applied: text("applied"),
		Retryable: t.RawGetString("retryable") == lua.LTrue,
	}
}
