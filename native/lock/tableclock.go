package lock

import (
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// A service answers with its Date in whole seconds, cut down, and its own
	// machines may differ by dateSpread from the clock that conditions and
	// people go by. So the table's clock shows at least Date - dateSpread
	// when the answer has come, and at most Date + 1 s + dateSpread when the
	// request goes out.
	dateSpread = 250 * time.Millisecond
	dateLate   = time.Second + dateSpread

	// drift is how much a machine's oscillator may be off: one part in 2000.
	// The best ones are off by a hundredth of it, a broken one by half.
	drift = 2000

	// knownWithin is how well the table's time has to be known before a put
	// may go out. A single answer that took half a second still does.
	knownWithin = 2 * time.Second
)

// DefaultMaxSkew is how far a machine's wall clock may be off before it is
// reported.
const DefaultMaxSkew = time.Second

// TableTime tells the time of the table, which alone decides whether a row
// has run out.
type TableTime interface {
	// Observe learns from an answer of the table's service. Every answer
	// tells, that of a failed request too; those without a Date are ignored.
	Observe(outcome.Attempt)
	// At returns what the table's clock can have shown at a reading.
	At(clock.Reading) Interval
}

// Interval bounds what the table's clock showed at one moment.
type Interval struct {
	Earliest, Latest time.Time
	// Epoch counts how often what was known has been dropped because an answer
	// contradicted it. What was decided in one era isn't valid in the next.
	// It is 0 as long as nothing is known.
	Epoch int
}

// Known says whether the window is narrow enough to send a put.
func (w Interval) Known() bool {
	return w.Epoch > 0 && w.Latest.Sub(w.Earliest) <= knownWithin
}

// TableClock is the time of a table behind a service, known from the Date of
// its answers. No machine's wall clock is trusted for it.
//
// A Date D gives two bounds: D - 250 ms at the moment at which the answer was
// complete, carried on by the slow hand, which never overtakes real time; and
// D + 1250 ms at the moment at which the request went out, carried on by the
// fast hand, which never falls behind it. The best bounds seen so far are
// kept; each loosens by 1/2000 of the time since. An answer that lies outside
// of them altogether shows that something was wrong with what was known (both
// clocks of this machine stood still, or the service's was set): it is
// dropped, and a new era begins.
//
// TableClock is safe for use by many goroutines.
type TableClock struct {
	report  SkewReport
	maxSkew time.Duration

	mu           sync.Mutex // guards what follows
	lower, upper bound
	era          int
	skew         skew
}

// bound is one side of what is known: what the table's clock showed, at least
// or at most, when a hand stood at 0.
type bound struct {
	origin time.Time
	seen   time.Duration // when it was seen, on the fast hand
}

// skew says to which side the wall clock is off.
type skew int

const (
	right skew = iota
	ahead
	behind
)

// SkewReport is told that this machine's wall clock is ahead of the table's by
// off (behind, when negative), and again once that is over, with 0, or once it
// is off to the other side.
type SkewReport func(off time.Duration)

// NewTableClock returns a clock that knows nothing yet. It calls report, if
// that isn't nil, when the wall clock is off by more than maxSkew for certain
// (0: [DefaultMaxSkew]).
func NewTableClock(maxSkew time.Duration, report SkewReport) *TableClock {
	if maxSkew == 0 {
		maxSkew = DefaultMaxSkew
	}
	return &TableClock{report: report, maxSkew: maxSkew}
}

// Observe learns from the Date of an answer.
func (c *TableClock) Observe(a outcome.Attempt) {
	if a.Date.IsZero() {
		return
	}
	lower := bound{a.Date.Add(-dateSpread - a.Received.ElapsedMin), a.Received.ElapsedMax}
	upper := bound{a.Date.Add(dateLate - a.Sent.ElapsedMax), a.Sent.ElapsedMax}
	seen := window(lower, upper, a.Received)

	c.mu.Lock()
	known := window(c.lower, c.upper, a.Received)
	if c.era == 0 || seen.Earliest.After(known.Latest) || seen.Latest.Before(known.Earliest) {
		c.lower, c.upper = lower, upper
		c.era++
	} else {
		if seen.Earliest.After(known.Earliest) {
			c.lower = lower
		}
		if seen.Latest.Before(known.Latest) {
			c.upper = upper
		}
	}
	off, changed := c.judge(a.Received)
	c.mu.Unlock()
	if changed && c.report != nil {
		c.report(off)
	}
}

// judge compares the wall clock with what is known. It needs c.mu.
func (c *TableClock) judge(at clock.Reading) (off time.Duration, changed bool) {
	known := window(c.lower, c.upper, at)
	now := right
	if d := at.Wall.Sub(known.Latest); d > c.maxSkew {
		now, off = ahead, d
	} else if d := at.Wall.Sub(known.Earliest); d < -c.maxSkew {
		now, off = behind, d
	}
	changed = now != c.skew
	c.skew = now
	return off, changed
}

// At returns what the table's clock can have shown at a reading, which may
// lie before the first answer.
func (c *TableClock) At(at clock.Reading) Interval {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := window(c.lower, c.upper, at)
	w.Epoch = c.era
	return w
}

func window(lower, upper bound, at clock.Reading) Interval {
	return Interval{
		Earliest: lower.origin.Add(at.ElapsedMin - loosened(lower, at)),
		Latest:   upper.origin.Add(at.ElapsedMax + loosened(upper, at)),
	}
}

func loosened(b bound, at clock.Reading) time.Duration {
	return (at.ElapsedMax - b.seen).Abs() / drift
}

// MachineClock is the time of an embedded table: this machine's wall clock,
// which all processes that open the file share.
type MachineClock struct{}

// Observe does nothing: there is nothing to learn.
func (MachineClock) Observe(outcome.Attempt) {}

// At returns the reading's wall clock.
func (MachineClock) At(at clock.Reading) Interval {
	return Interval{Earliest: at.Wall, Latest: at.Wall, Epoch: 1}
}

// stampUp and stampDown cut a time to milliseconds: up where a row must not
// run out too soon, down where it must not seem to have run out.
func stampUp(t time.Time) UnixMilli {
	s := stampDown(t)
	if s.Time().Before(t) {
		s++
	}
	return s
}

func stampDown(t time.Time) UnixMilli { return UnixMilli(t.UnixMilli()) }
