package vm

import (
	"context"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// deadlineCheckInterval is how often a wait reads both clocks: a suspension that
// stops the monotonic clock, on which timers run, lengthens no wait by more.
const deadlineCheckInterval = time.Second

// Context returns a Go context for a native call that may take long. It is
// cancelled at the nearest deadline, with [context.DeadlineExceeded] as its
// cause, and when the run is cancelled. Stop must be called when the call is over.
func (r *Run) Context() *CallContext {
	return &CallContext{run: r, deadline: r.deadlines.nearest()}
}

// CallContext is a context that costs next to nothing until something waits for
// it: only then is it made, and only from then on may other runs execute Lua
// in this one's place. The first use is the calling goroutine's.
type CallContext struct {
	run      *Run          // of which other goroutines only read ctx and clock
	deadline time.Duration // never for none

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stopped bool
}

// Renew gives the context the deadlines that are around its call now, after the
// call has called back into Lua: a coroutine may have been suspended there, and
// resumed under others.
func (c *CallContext) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.cancel != nil {
		c.cancel(nil)
	}
	c.ctx, c.cancel, c.timer = nil, nil, nil
	c.deadline = c.run.deadlines.nearest()
}

// Waited reports whether something has waited for it.
func (c *CallContext) Waited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx != nil
}

// Deadline is unknown: it is a moment of ElapsedMax, which no timer reads.
func (c *CallContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done makes the context if nothing has waited for it yet.
func (c *CallContext) Done() <-chan struct{} { return c.made().Done() }

// Err is the run's as long as nothing waits: a deadline that passes meanwhile is
// noticed by the next interrupt check.
func (c *CallContext) Err() error {
	c.mu.Lock()
	ctx := c.ctx
	c.mu.Unlock()
	if ctx == nil {
		return c.run.ctx.Err()
	}
	return ctx.Err()
}

// Value finds the cancellation below, so that contexts derived from this one
// need no goroutine.
func (c *CallContext) Value(key any) any {
	if key == (clock.EnderKey{}) {
		return c
	}
	return c.made().Value(key)
}

// Ended reads both clocks and reports whether the call has come to its end; see
// [clock.Ended].
func (c *CallContext) Ended() bool {
	return c.run.clock.ElapsedMax() >= c.deadline || c.run.ctx.Err() != nil
}

// made returns the context itself, made by the first call.
func (c *CallContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		if !c.stopped {
			c.run.park()
		}
		c.ctx, c.cancel = context.WithCancelCause(c.run.ctx)
		if c.stopped {
			c.cancel(nil)
		} else if c.deadline != never {
			c.watch()
		}
		if c.run.stop != nil {
			cancel := c.cancel
			context.AfterFunc(c.run.stop, func() { cancel(context.DeadlineExceeded) })
		}
	}
	return c.ctx
}

// watch cancels the context if the deadline has passed, or checks again later.
func (c *CallContext) watch() {
	left := c.deadline - c.run.clock.ElapsedMax()
	if left <= 0 {
		c.cancel(context.DeadlineExceeded)
		return
	}
	ctx := c.ctx
	c.timer = time.AfterFunc(min(left, deadlineCheckInterval), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.stopped && c.ctx == ctx {
			c.watch()
		}
	})
}

// Stop cancels the context.
func (c *CallContext) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.cancel != nil {
		c.cancel(nil)
	}
}
