package lualib

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// call is one call of a library function. Its methods read arguments, counted
// from 1, raise Lua's argument errors, and return results (ret).
type call struct {
	*lua.LState
	name string // of the function
}

func (c call) run() *vm.Run { return vm.Of(c.LState) }

// raise raises an error with the position of the caller, if that is a Lua
// function.
func (c call) raise(format string, args ...any) { vm.Raise(c.LState, format, args...) }

// argumentError raises an error about argument n.
func (c call) argumentError(n int, format string, args ...any) {
	c.raise("bad argument #%d to '%s' (%s)", n, c.name, fmt.Sprintf(format, args...))
}

// typeError raises the error of an argument that isn't of the type what.
func (c call) typeError(n int, what string) {
	got := "no value"
	if n <= c.GetTop() {
		got = c.Get(n).Type().String()
	}
	c.argumentError(n, "%s expected, got %s", what, got)
}

// absent reports whether an optional argument is missing.
func (c call) absent(n int) bool { return c.Get(n) == lua.LNil }

func (c call) any(n int) lua.LValue {
	if n > c.GetTop() {
		c.argumentError(n, "value expected")
	}
	return c.Get(n)
}

// text reads a string, or a number as text.
func (c call) text(n int) string {
	switch v := c.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(float64(v))
	}
	c.typeError(n, "string")
	return ""
}

func (c call) textOr(n int, missing string) string {
	if c.absent(n) {
		return missing
	}
	return c.text(n)
}

// number reads a number, or a string that is a numeral.
func (c call) number(n int) float64 {
	if x, ok := toNumber(c.Get(n)); ok {
		return x
	}
	c.typeError(n, "number")
	return 0
}

// integerMax is the largest value of an integer argument: all whole numbers up
// to it are floats, and sums of two fit into an int.
const integerMax = 1 << 53

// integer reads a number without its fraction. It is cut off at integerMax on
// either side; nan is 0.
func (c call) integer(n int) int { return toInteger(c.number(n)) }

func (c call) integerOr(n, missing int) int {
	if c.absent(n) {
		return missing
	}
	return c.integer(n)
}

func toInteger(x float64) int {
	switch {
	case math.IsNaN(x):
		return 0
	case x > integerMax:
		return integerMax
	case x < -integerMax:
		return -integerMax
	}
	return int(x)
}

// table reads a table. One that is still empty because it is lazy is filled.
func (c call) table(n int) *lua.LTable {
	t, ok := c.Get(n).(*lua.LTable)
	if !ok {
		c.typeError(n, "table")
	}
	if t.Metatable != lua.LNil {
		vm.Materialize(t)
	}
	return t
}

func (c call) function(n int) *lua.LFunction {
	f, ok := c.Get(n).(*lua.LFunction)
	if !ok {
		c.typeError(n, "function")
	}
	return f
}

// ret returns v as the only result of a function.
func (c call) ret(v lua.LValue) int {
	c.Push(v)
	return 1
}

func (c call) retText(s string) int { return c.ret(lua.LString(s)) }

func (c call) retNumber(x float64) int { return c.ret(lua.LNumber(x)) }

// resultsMax is how many values a function may return, as in Lua 5.1.
const resultsMax = 8000

// stringMax is the largest size of a string, in bytes.
const stringMax = 1 << 30

// charge is called before a value of size bytes is made.
func charge(run *vm.Run, size float64) {
	run.Charge(int64(min(size, 1<<62)))
	if size > stringMax {
		vm.Raise(run.Thread(), "resulting string too large")
	}
}

// bytesPerStep is how many bytes that are copied, compared or written count as
// one step.
const bytesPerStep = 64
