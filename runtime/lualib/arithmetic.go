package lualib

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/numeral"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// The interpreter converts a string in arithmetic its own way: "010" is octal,
// "1_000" and "inf" are numbers. Before it does, it asks the metatable of an
// operand. So strings have metamethods that convert them as Lua does.

// arithmetic is what the metatable of strings computes.
var arithmetic = arithmeticMethods([]struct {
	event   string
	compute func(a, b float64) float64
}{
	{"__add", func(a, b float64) float64 { return a + b }},
	{"__sub", func(a, b float64) float64 { return a - b }},
	{"__mul", func(a, b float64) float64 { return a * b }},
	{"__div", func(a, b float64) float64 { return a / b }},
	{"__mod", modulo},
	{"__pow", math.Pow},
	{"__unm", func(a, _ float64) float64 { return -a }},
})

// modulo is a % b as the interpreter computes it of numbers.
func modulo(a, b float64) float64 {
	x := math.Mod(a, b)
	if b > 0 && x < 0 || b < 0 && x > 0 {
		x += b
	}
	return x
}

func arithmeticMethods(operations []struct {
	event   string
	compute func(a, b float64) float64
}) []named {
	var methods []named
	for _, o := range operations {
		methods = append(methods, named{o.event, vm.NewFunction(func(L *lua.LState) int {
			return operate(L, o.event, o.compute)
		})})
	}
	return methods
}

// operate returns the result of an operation with a string as one of its
// operands, or of the other operand's metamethod.
func operate(L *lua.LState, event string, compute func(a, b float64) float64) int {
	left, right := L.Get(1), L.Get(2)
	if event == "__unm" {
		right = left // which Lua passes twice, the interpreter once
	}
	a, ok1 := toNumber(left)
	b, ok2 := toNumber(right)
	if ok1 && ok2 {
		L.Push(lua.LNumber(compute(a, b)))
		return 1
	}
	for _, v := range []lua.LValue{left, right} {
		if v.Type() == lua.LTString {
			continue
		}
		if method := L.GetMetaField(v, event); method != lua.LNil {
			L.Push(method)
			L.Push(left)
			L.Push(right)
			L.Call(2, 1)
			return 1
		}
	}
	wrong := right
	if !ok1 {
		wrong = left
	}
	vm.Raise(L, "attempt to perform arithmetic on a %s value", wrong.Type())
	return 0
}

// toNumber returns a number, or the number that a string stands for.
func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return numeral.Parse(string(v))
	}
	return 0, false
}
