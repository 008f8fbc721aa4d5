package vm

import (
	"context"
	"sync"
	"time"
)

// endsCheck is how often a wait looks at both clocks: a suspension that stops
// the monotonic clock, on which timers run, lengthens no wait by more.
const endsCheck = time.Second

// Context returns a Go context for a native call that may take long. It is
// cancelled at the nearest end, with [context.DeadlineExceeded] as its cause,
// and when the run is cancelled. stop must be called when the call is over.
//
// It costs next to nothing until somebody waits for it.
func (r *Run) Context() (ctx context.Context, stop func()) {
	c := &callContext{parent: r.ctx, hands: r.hands, at: r.ends[len(r.ends)-1].nearest}
	return c, c.stop
}

// callContext is a context that is made when it is first asked for.
type callContext struct {
	parent context.Context
	hands  *Hands
	at     time.Duration // noEnd for none

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stopped bool
}

// Deadline is unknown: the end lies on the fast hand, which no timer reads.
func (c *callContext) Deadline() (time.Time, bool) { return time.Time{}, false }

func (c *callContext) Done() <-chan struct{} { return c.made().Done() }

// Err asks the clocks and the run as long as nobody waits.
func (c *callContext) Err() error {
	c.mu.Lock()
	idle := c.ctx == nil && !c.stopped && c.parent.Err() == nil && c.hands.Fast() < c.at
	c.mu.Unlock()
	if idle {
		return nil
	}
	return c.made().Err()
}

// Value finds the cancellation below, so that contexts derived from this one
// need no goroutine.
func (c *callContext) Value(key any) any { return c.made().Value(key) }

// made returns the context itself, made by the first call.
func (c *callContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancelCause(c.parent)
		if c.stopped {
			c.cancel(nil)
		} else if c.at != noEnd {
			c.wait()
		}
	}
	return c.ctx
}

// wait cancels the context if the end has passed, or looks again later.
func (c *callContext) wait() {
	left := c.at - c.hands.Fast()
	if left <= 0 {
		c.cancel(context.DeadlineExceeded)
		return
	}
	c.timer = time.AfterFunc(min(left, endsCheck), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.stopped {
			c.wait()
		}
	})
}

func (c *callContext) stop() {
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
