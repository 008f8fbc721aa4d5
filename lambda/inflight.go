package lambda

import (
	"sync"
	"time"
)

// inFlight counts the invocations in flight.
type inFlight struct {
	mu      sync.Mutex // guards the fields below
	count   int
	lastEnd time.Time     // when the last one ended, on the wall clock
	idle    chan struct{} // made by close, closed when none is left
}

// add adds an invocation; ok is false after close. pause is how long there was
// none, by the wall clock, which alone shows that a process was suspended.
func (f *inFlight) add(now time.Time) (pause time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle != nil {
		return 0, false
	}
	if f.count == 0 && !f.lastEnd.IsZero() {
		pause = now.Sub(f.lastEnd)
	}
	f.count++
	return pause, true
}

// done removes an invocation that ended now.
func (f *inFlight) done(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastEnd = now
	if f.count--; f.count == 0 && f.idle != nil {
		close(f.idle)
	}
}

// single reports whether there is no more than one.
func (f *inFlight) single() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count <= 1
}

// close refuses further invocations. idle is closed when none is left; busy
// reports whether there is one now.
func (f *inFlight) close() (idle <-chan struct{}, busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil {
		f.idle = make(chan struct{})
		if f.count == 0 {
			close(f.idle)
		}
	}
	return f.idle, f.count > 0
}
