package vm

import (
	"context"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// CallResult is how a function ended that ran under a deadline.
type CallResult struct {
	// Expired: its deadline passed, and none around it did. Results and errors
	// of the function are dropped.
	Expired bool
	// InDoubt: a write that it sent, or tried to, has no known outcome.
	InDoubt bool

	run    *Run
	calls  []openCall  // that were open when its deadline passed
	thread *lua.LState // holds the results; nil if it raised
	err    *lua.ApiError
}

// Within calls the function at index fn of L's stack, with the n values above
// it, and interrupts it once ElapsedMax passes at. It always returns, so that
// its caller can clean up; the caller passes the result on by
// [CallResult.Finish].
func (r *Run) Within(L *lua.LState, at time.Duration, fn, n int) CallResult {
	return r.within(L, at, fn, n)
}

// WithinContext is like [Run.Within], but the function is interrupted once ctx is
// done. It may not be called inside itself.
func (r *Run) WithinContext(L *lua.LState, ctx context.Context, fn, n int) CallResult {
	r.stop, r.stopFrame = ctx, len(r.deadlines)
	result := r.within(L, never, fn, n)
	r.stop = nil
	return result
}

func (r *Run) within(L *lua.LState, at time.Duration, fn, n int) CallResult {
	r.deadlines.push(at)
	t, err := r.call(L, fn, n, nil)
	var calls []openCall
	if r.interrupt != nil {
		calls = r.interrupt.calls
	}
	closed, expired := r.closeDeadline()
	return CallResult{Expired: expired, InDoubt: closed.inDoubt, run: r, calls: calls, thread: t, err: err}
}

// closeDeadline closes the innermost deadline and removes the interrupt if it
// belongs to that. It returns the deadline, and whether it has expired: its own
// time has passed and none around it has.
func (r *Run) closeDeadline() (innermost deadline, expired bool) {
	now := r.clock.ElapsedMax()
	if before := r.interrupt; before == nil || before.Cause == Deadline {
		// Check once more: a function that returned after its deadline has
		// expired too, and one around it may have passed meanwhile.
		r.interrupt = nil
		if r.checkLimits(now) && before != nil {
			r.interrupt.last, r.interrupt.calls = before.last, before.calls
		}
	}
	innermost = r.deadlines.pop()
	if i := r.interrupt; i == nil || i.Cause != Deadline || i.owner != len(r.deadlines) {
		return innermost, false
	}
	r.interrupt = nil
	r.meter.restart()
	if r.onInterrupt != nil {
		r.onInterrupt(now - innermost.at)
	}
	return innermost, true
}

// Returned reports whether the function has returned: it neither raised nor was
// interrupted, by its own deadline or one around it.
func (c CallResult) Returned() bool { return c.run.interrupt == nil && !c.Expired && c.err == nil }

// Finish passes the result on: it raises the interrupt of a frame around this
// one, "deadline exceeded" if its own deadline passed, the function's error as
// it is; or pushes lead and the function's results on L and returns their
// number.
func (c CallResult) Finish(L *lua.LState, lead ...lua.LValue) int {
	switch {
	case c.run.interrupt != nil:
		c.run.RaiseInterrupt()
	case c.Expired:
		c.run.trace.value, c.run.trace.calls = lua.LString(DeadlineExceeded), c.calls
		L.Error(lua.LString(DeadlineExceeded), 0)
	case c.err != nil:
		c.run.trace.keep(c.err)
		L.Error(c.err.Object, 0)
	}
	for _, v := range lead {
		L.Push(v)
	}
	return len(lead) + c.run.threads.putResults(L, c.thread)
}
