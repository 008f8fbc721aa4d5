package lualib

import (
	"fmt"
	"weak"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// identities numbers the tables, functions, userdata and threads of a run, so
// that tostring can tell them apart. Addresses would reveal the host's memory.
type identities struct {
	last      int
	tables    identityMap[lua.LTable]
	functions identityMap[lua.LFunction]
	userdata  identityMap[lua.LUserData]
	threads   identityMap[lua.LState]
}

// text returns the text of a value that has an identity.
func (n *identities) text(run *vm.Run, v lua.LValue) string {
	var number int
	switch v := v.(type) {
	case *lua.LTable:
		number = n.tables.identity(run, v, &n.last)
	case *lua.LFunction:
		number = n.functions.identity(run, v, &n.last)
	case *lua.LUserData:
		number = n.userdata.identity(run, v, &n.last)
	case *lua.LState:
		number = n.threads.identity(run, v, &n.last)
	}
	return fmt.Sprintf("%s: 0x%08x", v.Type(), number)
}

// identityMap holds the numbers of objects of one type without keeping them
// alive. When it has doubled, it forgets those that are gone.
type identityMap[T any] struct {
	numbers map[weak.Pointer[T]]int
	sweepAt int // size of the map at which it is swept
}

// sweepMin is the smallest size of a map that is worth a sweep.
const sweepMin = 1024

// identity returns the number of p. A new one gets the number after *last.
func (n *identityMap[T]) identity(run *vm.Run, p *T, last *int) int {
	key := weak.Make(p)
	if number, ok := n.numbers[key]; ok {
		return number
	}
	if n.numbers == nil {
		n.numbers = map[weak.Pointer[T]]int{}
		n.sweepAt = sweepMin
	}
	if len(n.numbers) >= n.sweepAt {
		for key := range n.numbers {
			run.Step(1)
			if key.Value() == nil {
				delete(n.numbers, key)
			}
		}
		n.sweepAt = max(sweepMin, 2*len(n.numbers))
	}
	*last++
	n.numbers[key] = *last
	return *last
}

// ToString is Lua's tostring: the text of v, by __tostring if it has that. It
// raises an error if __tostring doesn't return a string.
func ToString(L *lua.LState, v lua.LValue) string {
	switch s := toString(L, v).(type) {
	case lua.LString:
		return string(s)
	case lua.LNumber:
		return formatNumber(float64(s))
	}
	vm.Raise(L, "'tostring' must return a string")
	return ""
}

// toString returns what tostring returns, which may be any value of __tostring.
func toString(L *lua.LState, v lua.LValue) lua.LValue {
	if method := L.GetMetaField(v, "__tostring"); method != lua.LNil {
		L.Push(method)
		L.Push(v)
		L.Call(1, 1)
		result := L.Get(-1)
		L.Pop(1)
		return result
	}
	switch v := v.(type) {
	case lua.LString:
		return v
	case lua.LNumber:
		return lua.LString(formatNumber(float64(v)))
	case *lua.LNilType, lua.LBool:
		return lua.LString(v.String())
	}
	run := vm.Of(L)
	return lua.LString(stateOf(run).identities.text(run, v))
}
