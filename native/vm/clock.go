package vm

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Instant is one reading of a machine's two clocks. Neither is trusted alone:
// the wall clock is stepped by operators and time daemons, the monotonic one
// stands still while a machine is suspended or a snapshot is frozen.
type Instant struct {
	Wall time.Time     // no monotonic reading in it
	Mono time.Duration // since an arbitrary, fixed moment
}

// Clock is a machine's time. The production one is [SystemClock]; simulated
// processes bring their own.
type Clock interface {
	// Now reads both clocks.
	Now() Instant
	// Sleep waits for d, or returns ctx.Err() as soon as ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock reads the clocks of this machine.
type systemClock struct{ start time.Time }

// SystemClock returns the clock of this machine. In a testing/synctest bubble
// it must be made inside the bubble.
func SystemClock() Clock { return systemClock{start: time.Now()} }

func (c systemClock) Now() Instant {
	now := time.Now()
	return Instant{Wall: now.Round(0), Mono: now.Sub(c.start)}
}

func (c systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handsApart is how far the two clocks may drift from each other before both
// hands get a new base. It bounds how much of a backward step of one clock
// can hide a forward step that comes after it.
const handsApart = 10 * time.Millisecond

// Hands is a process's sense of elapsed time, made of a clock that may be
// stepped, slewed or frozen. Since their last common base the fast hand has
// moved by the larger and the slow hand by the smaller of what the two clocks
// show. So the fast hand never moves less than real time while at least one
// clock runs: leases, waits and deadlines are read on it, and no step or
// suspension makes one longer.
//
// Both hands start at 0. Hands is safe for use by many goroutines.
type Hands struct {
	Clock
	base atomic.Pointer[handsBase]
	mu   sync.Mutex // serialises changes of base
}

type handsBase struct {
	at         Instant
	fast, slow time.Duration
}

// NewHands starts both hands at clock's present.
func NewHands(clock Clock) *Hands {
	h := &Hands{Clock: clock}
	h.base.Store(&handsBase{at: clock.Now()})
	return h
}

// Reading is what the hands showed at one moment.
type Reading struct {
	Wall time.Time     // the machine's wall clock, for people and for embedded tables
	Fast time.Duration // the fast hand: at least the time that has passed
	Slow time.Duration // the slow hand: at most the time that has passed
}

// Read reads the clock and both hands.
func (h *Hands) Read() Reading {
	base := h.base.Load()
	now := h.Now()
	r, apart := base.read(now)
	if apart {
		r = h.rebase(now)
	}
	return r
}

// Fast reads the fast hand.
func (h *Hands) Fast() time.Duration { return h.Read().Fast }

// read places now on the hands. A hand never moves backwards: of two clocks
// that both went back, nothing is believed.
func (b *handsBase) read(now Instant) (r Reading, apart bool) {
	wall, mono := now.Wall.Sub(b.at.Wall), now.Mono-b.at.Mono
	apart = wall-mono > handsApart || mono-wall > handsApart
	r.Wall = now.Wall
	r.Fast = b.fast + max(wall, mono, 0)
	r.Slow = b.slow + max(min(wall, mono), 0)
	return r, apart
}

// rebase gives both hands a new base at now, so that the next reading starts
// from equal clocks.
func (h *Hands) rebase(now Instant) Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	base := h.base.Load()
	if now.Mono < base.at.Mono {
		// Another goroutine has moved the base past our reading meanwhile.
		now = h.Now()
	}
	r, apart := base.read(now)
	if apart {
		h.base.Store(&handsBase{at: now, fast: r.Fast, slow: r.Slow})
	}
	return r
}
