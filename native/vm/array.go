package vm

import lua "github.com/yuin/gopher-lua"

// Array is the array part of a table: the values at 1 and up, none of them a Go
// nil. gopher-lua's own methods move, fill and grow it in one step, which takes
// milliseconds where it is long; with it a library function takes many small
// ones. Whatever else changes the table may move the array.
func Array(t *lua.LTable) *[]lua.LValue { return &table(t).array }
