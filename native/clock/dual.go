package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// MaxDivergence is how far the wall clock and the monotonic clock may drift
// apart before a [Dual] takes a new base. It bounds how much of a forward step
// can be hidden by a backward step of the same clock before it.
const MaxDivergence = 10 * time.Millisecond

// Dual measures elapsed time on two clocks at once and bounds it from both
// sides. Since their last common base, ElapsedMax has grown by the larger and
// ElapsedMin by the smaller of what the wall clock and the monotonic clock
// show. So ElapsedMax never grows less than real time while at least one clock
// runs: a lease that ends at a reading of ElapsedMax is lengthened neither by a
// step nor by a suspension.
//
// Both start at 0. Dual is safe for use by many goroutines.
type Dual struct {
	Clock
	base atomic.Pointer[base]
	mu   sync.Mutex // serialises changes of base
}

// base is a moment at which both clocks were read, and what had elapsed then.
type base struct {
	at                     Instant
	elapsedMax, elapsedMin time.Duration
}

// NewDual starts measuring at source's present.
func NewDual(source Clock) *Dual {
	d := &Dual{Clock: source}
	d.base.Store(&base{at: source.Now()})
	return d
}

// Reading is what a [Dual] showed at one moment.
type Reading struct {
	// Wall is the machine's wall clock, for what is shown and for embedded tables.
	Wall time.Time
	// ElapsedMax is at least, ElapsedMin at most the time that has really
	// passed since the start.
	ElapsedMax, ElapsedMin time.Duration
}

// Read reads both clocks.
func (d *Dual) Read() Reading {
	b := d.base.Load()
	now := d.Now()
	r, apart := b.read(now)
	if apart {
		r = d.rebase(now)
	}
	return r
}

// ElapsedMax reads both clocks and returns the upper bound alone.
func (d *Dual) ElapsedMax() time.Duration { return d.Read().ElapsedMax }

// read returns what has elapsed at now, and whether the clocks have drifted
// apart. Neither bound shrinks: two clocks that both went back add
// nothing.
func (b *base) read(now Instant) (r Reading, apart bool) {
	wall, mono := now.Wall.Sub(b.at.Wall), now.Mono-b.at.Mono
	apart = wall-mono > MaxDivergence || mono-wall > MaxDivergence
	r.Wall = now.Wall
	r.ElapsedMax = b.elapsedMax + max(wall, mono, 0)
	r.ElapsedMin = b.elapsedMin + max(min(wall, mono), 0)
	return r, apart
}

// rebase makes now the base, so that the next reading starts from clocks that
// agree.
func (d *Dual) rebase(now Instant) Reading {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.base.Load()
	if now.Mono < b.at.Mono {
		// Another goroutine has moved the base past our reading meanwhile.
		now = d.Now()
	}
	r, apart := b.read(now)
	if apart {
		d.base.Store(&base{at: now, elapsedMax: r.ElapsedMax, elapsedMin: r.ElapsedMin})
	}
	return r
}
