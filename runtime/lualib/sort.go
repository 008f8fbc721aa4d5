package lualib

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// valueBytes is the size of a Lua value in a Go slice.
const valueBytes = 16

// tableSort sorts a copy and writes it back at the end, so the table stays as it
// was while comparisons run, and if one raises an error.
func tableSort(c call) int {
	t, run := c.table(1), c.run()
	var less *lua.LFunction
	if !c.absent(2) {
		less = c.function(2)
	}
	n := vm.Len(t)
	run.Charge(int64(n) * valueBytes)
	values := make([]lua.LValue, n)
	numbers, texts := 0, 0
	for i := range values {
		run.Step(1)
		values[i] = vm.Get(t, i+1)
		switch values[i].(type) {
		case lua.LNumber:
			numbers++
		case lua.LString:
			texts++
		}
	}
	switch {
	case less == nil && numbers == n:
		sortNumbers(run, values)
	case less == nil && texts == n:
		sortStrings(run, values)
	default:
		sort.Sort(&sorter{c.LState, run, less, values})
	}
	for i, v := range values {
		run.Step(1)
		setIndex(t, i+1, v)
	}
	return 0
}

func sortNumbers(run *vm.Run, values []lua.LValue) {
	slices.SortFunc(values, func(a, b lua.LValue) int {
		run.Step(1)
		return cmp.Compare(a.(lua.LNumber), b.(lua.LNumber))
	})
}

func sortStrings(run *vm.Run, values []lua.LValue) {
	slices.SortFunc(values, func(a, b lua.LValue) int {
		s, t := string(a.(lua.LString)), string(b.(lua.LString))
		run.Step(1 + min(len(s), len(t))/bytesPerStep)
		return strings.Compare(s, t)
	})
}

// sorter sorts by a function, or by < if it is nil.
type sorter struct {
	L      *lua.LState
	run    *vm.Run
	less   *lua.LFunction
	values []lua.LValue
}

func (s *sorter) Len() int      { return len(s.values) }
func (s *sorter) Swap(i, j int) { s.values[i], s.values[j] = s.values[j], s.values[i] }

func (s *sorter) Less(i, j int) bool {
	s.run.Step(1)
	L := s.L
	if s.less == nil {
		return lessThan(L, s.values[i], s.values[j])
	}
	L.Push(s.less)
	L.Push(s.values[i])
	L.Push(s.values[j])
	L.Call(2, 1)
	less := L.Get(-1)
	L.Pop(1)
	return lua.LVAsBool(less)
}

// lessThan is a < b, called by a library function: its error names the caller.
func lessThan(L *lua.LState, a, b lua.LValue) bool {
	x, y := a.Type(), b.Type()
	method := L.GetMetaField(a, "__lt")
	switch {
	case x == y && (x == lua.LTNumber || x == lua.LTString || method != lua.LNil && method == L.GetMetaField(b, "__lt")):
		return L.LessThan(a, b)
	case x == y:
		vm.Raise(L, "attempt to compare two %s values", x)
	}
	vm.Raise(L, "attempt to compare %s with %s", x, y)
	return false
}
