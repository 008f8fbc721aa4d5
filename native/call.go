package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// Call is one call of a native function.
type Call struct {
	L   *lua.LState
	Run *vm.Run
	Env *Env

	name      string
	entered   clock.Reading
	results   int
	ctx       *vm.CallContext
	unsettled int    // writes that have begun and aren't settled
	traced    func() // nil if nobody is told of the call
}

// Return pushes the results of the call.
func (c *Call) Return(values ...lua.LValue) error {
	for _, v := range values {
		c.L.Push(v)
	}
	c.results += len(values)
	return nil
}

// Context is cancelled at the nearest end of the run, or when the run is
// cancelled. It is over when the call is.
func (c *Call) Context() context.Context {
	if c.ctx == nil {
		c.ctx = c.Run.Context()
	}
	return c.ctx
}

// Renew is called after the call has called back into Lua: the ends around it
// may be others now. What waits for [Call.Context] then waits anew.
func (c *Call) Renew() {
	if c.ctx != nil {
		c.ctx.Renew()
	}
}

// Entered is what the hands showed when the call passed the gate.
func (c *Call) Entered() clock.Reading { return c.entered }

// Now reads the hands that the run's time is measured on.
func (c *Call) Now() clock.Reading { return c.Run.Clock().Read() }

// Sleep waits for d or until the nearest end.
func (c *Call) Sleep(d time.Duration) error {
	return c.Run.Clock().Sleep(c.Context(), d)
}

// Write is called before something outside may be changed. The function it
// returns is called once the outcome is known: applied, or not and never. A
// call that ends before that leaves every lock around it to run out by itself.
func (c *Call) Write() (settled func()) {
	c.unsettled++
	done := false
	return func() {
		if !done {
			done = true
			c.unsettled--
		}
	}
}

// Within calls the function that is argument fn with the n arguments after it,
// and interrupts it once the fast hand passes at. The caller cleans up and
// then returns what [Call.Finish] returns.
func (c *Call) Within(at time.Duration, fn, n int) vm.CallResult {
	return c.Run.Within(c.L, at, fn, n)
}

// Finish passes the outcome of [Call.Within] on: it raises what is to be
// raised, or returns lead and the function's results.
func (c *Call) Finish(o vm.CallResult, lead ...lua.LValue) error {
	c.results += o.Finish(c.L, lead...)
	return nil
}

// end is deferred: it runs however the call ends.
func (c *Call) end() {
	if c.unsettled > 0 {
		c.Run.MarkInDoubt()
	}
	if c.ctx != nil {
		c.ctx.Stop()
	}
	if c.traced != nil {
		c.traced()
	}
}

// raise raises err as a script sees it.
func (c *Call) raise(err error) {
	var known *outcome.Error
	if !errors.As(err, &known) {
		// A Go error says things that are not for scripts.
		c.Run.RecordIncident(err)
		known = &outcome.Error{Code: "internal", Message: "internal error in native." + c.name}
	}
	c.L.Error(errorTable(known), 0)
}

// BadArg raises the argument error of argument n, in Lua's words.
func (c *Call) BadArg(n int, format string, args ...any) {
	vm.Raise(c.L, "bad argument #%d to '%s' (%s)", n, c.name, fmt.Sprintf(format, args...))
}
