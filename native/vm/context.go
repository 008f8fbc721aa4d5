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
func (r *Run) Context() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	nearest := r.ends[len(r.ends)-1].nearest
	if nearest == noEnd {
		return ctx, func() { cancel(nil) }
	}
	w := &watch{hands: r.hands, at: nearest, cancel: cancel}
	w.check()
	return ctx, w.stop
}

// watch cancels a context when the fast hand passes a moment.
type watch struct {
	hands  *Hands
	at     time.Duration
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards timer and stopped
	timer   *time.Timer
	stopped bool
}

func (w *watch) check() {
	left := w.at - w.hands.Fast()
	if left <= 0 {
		w.cancel(context.DeadlineExceeded)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.timer = time.AfterFunc(min(left, endsCheck), w.check)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(nil)
}
