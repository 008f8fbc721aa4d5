package vm

import (
	"context"
	"time"
)

// hook is the run as the context of its Lua threads. It is not the run itself,
// because a context derived from it would race on its counter.
type hook Run

var _ context.Context = (*hook)(nil)

// Done is called before each Lua instruction. It returns nil, a channel that
// is never ready, until the run or one of its frames is interrupted.
func (h *hook) Done() <-chan struct{} {
	if h.meter.left > 0 && !h.meter.alarm.Load() {
		h.meter.left--
		return nil
	}
	if (*Run)(h).begin() && !h.meter.alarm.Load() {
		h.meter.left--
		return nil
	}
	if (*Run)(h).poll() {
		return closed
	}
	h.meter.left-- // the instruction that is about to run
	return nil
}

// Err is what gopher-lua raises once Done is closed.
func (h *hook) Err() error {
	if h.interrupt == nil {
		return nil
	}
	return h.interrupt
}

func (h *hook) Deadline() (time.Time, bool) { return time.Time{}, false }
func (h *hook) Value(any) any               { return nil }

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// poll is the safepoint poll: it reads the clocks, lets other runs have the
// processor when it is time to, and reports whether the run is interrupted.
func (r *Run) poll() (interrupted bool) {
	r.frame.thread.Panic = raised
	forgetTailCalls(r.frame.thread)
	if r.interrupt == nil {
		now := r.clock.ElapsedMax()
		r.meter.polled(now)
		if r.processor.due(now) {
			now = r.yieldProcessor(now)
		}
		r.meter.polledAt = now
		if r.interrupt == nil {
			r.checkLimits(now)
		}
	}
	if r.interrupt == nil {
		return false
	}
	r.meter.stop()
	return true
}

// Step counts n steps of a Go function like instructions and raises the
// interrupt if there is one. Each loop of a library function that a script can
// make long calls it, and so does each that calls back into Lua.
func (r *Run) Step(n int) {
	if r.meter.take(n) || r.begin() && r.meter.take(n) {
		return
	}
	r.meter.exceed(n)
	if r.poll() {
		r.RaiseInterrupt()
	}
}

// begin is called before the first step on a thread. gopher-lua's protected call
// has set the thread's Panic to its own.
func (r *Run) begin() bool {
	if !r.meter.resume() {
		return false
	}
	r.frame.thread.Panic = raised
	return true
}

// Steps is how many steps the run has taken.
func (r *Run) Steps() int64 { return r.meter.total() }
