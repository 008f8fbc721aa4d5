package compile

import lua "github.com/yuin/gopher-lua"

// lengthOf is #x of its argument, as the interpreter computes it but for the
// length of a table.
func (in *intrinsics) lengthOf(L *lua.LState) int {
	v := L.Get(1)
	switch v := v.(type) {
	case *lua.LTable:
		if v.Metatable == lua.LNil {
			return returnInteger(L, in.length(v))
		}
	case lua.LString:
		return returnInteger(L, len(v))
	}
	if method, ok := L.GetMetaField(v, "__len").(*lua.LFunction); ok {
		L.Push(method)
		L.Push(v)
		L.Call(1, 1)
		return 1
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		L.RaiseError("attempt to get length of a %s value", v.Type())
	}
	return returnInteger(L, in.length(t))
}

// smallIntegers are values that needn't be allocated.
var smallIntegers = func() (values [1024]lua.LValue) {
	for i := range values {
		values[i] = lua.LNumber(i)
	}
	return values
}()

func returnInteger(L *lua.LState, n int) int {
	if n < len(smallIntegers) {
		L.Push(smallIntegers[n])
	} else {
		L.Push(lua.LNumber(n))
	}
	return 1
}
