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

	name          string
	entered       clock.Reading
	results       int
	ctx           *vm.CallContext
	pendingWrites int    // that have begun, and whose outcome isn't known yet
	endTrace      func() // nil if the call isn't traced
}

// Return pushes the results of the call.
func (c *Call) Return(values ...lua.LValue) error {
	for _, v := range values {
		c.L.Push(v)
	}
	c.results += len(values)
	return nil
}

// Context returns a context that is cancelled at the nearest deadline, when the
// run is cancelled, and when the call is over.
func (c *Call) Context() context.Context {
	if c.ctx == nil {
		c.ctx = c.Run.Context()
	}
	return c.ctx
}

// Renew is called after the call has called back into Lua, where a coroutine may
// have been suspended and resumed under other deadlines. [Call.Context] follows
// those from then on.
func (c *Call) Renew() {
	if c.ctx != nil {
		c.ctx.Renew()
	}
}

// Entered is when the call was made: the reading of its interrupt check.
func (c *Call) Entered() clock.Reading { return c.entered }

// Now reads the clock that measures the run's time.
func (c *Call) Now() clock.Reading { return c.Run.Clock().Read() }

// Sleep waits for d. It returns the error of [Call.Context] if that ends first.
func (c *Call) Sleep(d time.Duration) error {
	return c.Run.Clock().Sleep(c.Context(), d)
}

// Write is called before something outside may be changed. The function that it
// returns is called once the outcome is known: the write was applied, or never
// will be. A call that ends before that is in doubt, and every lock around it is
// left to expire by itself.
func (c *Call) Write() (resolved func()) {
	c.pendingWrites++
	known := false
	return func() {
		if !known {
			known = true
			c.pendingWrites--
		}
	}
}

// Within calls the function that is argument fn with the n arguments after it,
// and interrupts it once ElapsedMax passes at. The caller cleans up and then
// returns what [Call.Finish] returns.
func (c *Call) Within(at time.Duration, fn, n int) vm.CallResult {
	return c.Run.Within(c.L, at, fn, n)
}

// Finish passes the result of [Call.Within] on: it raises what is to be raised,
// or returns lead and the function's results.
func (c *Call) Finish(r vm.CallResult, lead ...lua.LValue) error {
	c.results += r.Finish(c.L, lead...)
	return nil
}

// end is deferred, so that it runs however the call ends.
func (c *Call) end() {
	if c.pendingWrites > 0 {
		c.Run.MarkInDoubt()
	}
	if c.ctx != nil {
		c.ctx.Stop()
	}
	if c.endTrace != nil {
		c.endTrace()
	}
}

// raise raises err as a script sees it.
func (c *Call) raise(err error) {
	var known *outcome.Error
	if !errors.As(err, &known) {
		// The text of a Go error is not for scripts.
		c.Run.RecordIncident(err)
		known = &outcome.Error{Code: "internal", Message: "internal error in native." + c.name}
	}
	c.L.Error(errorTable(known), 0)
}

// BadArg raises an error about argument n, in Lua's form.
func (c *Call) BadArg(n int, format string, args ...any) {
	vm.Raise(c.L, "bad argument #%d to '%s' (%s)", n, c.name, fmt.Sprintf(format, args...))
}
