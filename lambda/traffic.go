package lambda

import (
	"sync"
	"time"
)

// traffic counts the invocations that are under way.
type traffic struct {
	mu      sync.Mutex // guards what follows
	running int
	last    time.Time     // on the wall clock, when the last one ended
	idle    chan struct{} // made by stop, closed when none is left
}

// enter counts one more. pause is how long there has been none: a suspended
// process notices it by the wall clock only. After stop nobody enters.
func (t *traffic) enter(now time.Time) (pause time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle != nil {
		return 0, false
	}
	if t.running == 0 && !t.last.IsZero() {
		pause = now.Sub(t.last)
	}
	t.running++
	return pause, true
}

// leave counts one less.
func (t *traffic) leave(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = now
	if t.running--; t.running == 0 && t.idle != nil {
		close(t.idle)
	}
}

// alone says that there is no more than one.
func (t *traffic) alone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running <= 1
}

// stop lets nobody in any more. idle is closed when the last one has left; busy
// says whether there is one.
func (t *traffic) stop() (idle <-chan struct{}, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = make(chan struct{})
		if t.running == 0 {
			close(t.idle)
		}
	}
	return t.idle, t.running > 0
}
