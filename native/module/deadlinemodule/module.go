// Package deadlinemodule is native.deadline: a bound on the time that a function
// may take, which nothing inside it can outlast.
//
//	native.deadline.with(ms, fn, ...) -> ...
//	native.deadline.remaining() -> ms
package deadlinemodule

import (
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
)

// New returns the module native.deadline.
func New() native.Module {
	return native.Module{Name: "deadline", Funcs: []native.Func{
		{Name: "with", Do: with, Args: native.AnyArgs},
		{Name: "remaining", Do: remaining, Args: native.NoArgs},
	}}
}

// The bounds of a deadline.
const (
	shortest = time.Millisecond
	longest  = 24 * time.Hour
)

// with calls fn with the arguments after it and interrupts it once ms have
// passed.
func with(c *native.Call) error {
	at := c.Entered().ElapsedMax + c.Millis(1, "ms", shortest, longest)
	c.Function(2)
	return c.Finish(c.Within(at, 2, c.NArgs()-2))
}

// remaining returns the milliseconds until the nearest deadline; math.huge if
// there is none.
func remaining(c *native.Call) error {
	left, ok := c.Run.Remaining()
	if !ok {
		return c.Return(lua.LNumber(math.Inf(1)))
	}
	return c.Return(lua.LNumber(float64(left) / float64(time.Millisecond)))
}
