package vm

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

var arrayOffset = func() uintptr {
	f, ok := reflect.TypeFor[lua.LTable]().FieldByName("array")
	if ok && f.Type == reflect.TypeFor[[]lua.LValue]() {
		return f.Offset
	}
	panic("gopher-lua's tables have changed")
}()

// Array is the array part of a table: the values at 1 and up, none of them a Go
// nil. gopher-lua's own methods move, fill and grow it in one step, which takes
// milliseconds where it is long; with it a library function takes many small
// ones. Whatever else changes the table may move the array.
func Array(t *lua.LTable) *[]lua.LValue {
	return (*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), arrayOffset))
}
