package lock

import (
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// A service answers with its Date cut to whole seconds, and its machines'
	// clocks may differ by dateSpread from the table's clock. So the table's
	// clock shows at least Date - dateSpread when the answer has come, and at
	// most Date + dateLag when the request goes out.
	dateSpread = 250 * time.Millisecond
	dateLag    = time.Second + dateSpread

	// driftRatio bounds how much a machine's oscillator may be off: one part in
	// 2000. The best ones are off by a hundredth of it, a broken one by half.
	driftRatio = 2000

	// knownWidthMax is how wide the interval of the table's time may be for a
	// put to be sent. One answer suffices if it took half a second at most.
	knownWidthMax = 2 * time.Second
)

// DefaultMaxSkew is how far a machine's wall clock may be off before it is
// reported.
const DefaultMaxSkew = time.Second

// TableTime is the time of the table, which alone decides whether a row has run
// out.
type TableTime interface {
	// Observe learns from the Date of an answer, that of a failed request too.
	// An answer without a Date is ignored.
	Observe(outcome.Attempt)
	// At returns what the table's clock can have shown at a reading.
	At(clock.Reading) Interval
}

// Interval bounds what the table's clock showed at one moment.
type Interval struct {
	Earliest, Latest time.Time
	// Epoch is 0 as long as nothing is known, then 1, and grows each time when
	// what was known is dropped because an answer contradicted it. What was
	// decided in one epoch isn't valid in the next.
	Epoch int
}

// Known reports whether the interval is narrow enough to send a put.
func (i Interval) Known() bool {
	return i.Epoch > 0 && i.Latest.Sub(i.Earliest) <= knownWidthMax
}

// TableClock is the time of a table behind a service, known from the Date of
// its answers. No machine's wall clock is trusted for it.
//
// A Date D gives two bounds: D - 250 ms at the moment at which the answer was
// complete, carried on by ElapsedMin, which never overtakes real time; and
// D + 1250 ms at the moment at which the request was sent, carried on by
// ElapsedMax, which never falls behind it. The best bounds seen so far are
// kept; each loosens by 1/2000 of the time since. An answer that lies outside
// of them altogether shows that what was known is wrong (both clocks of this
// machine stood still, or the service's was set): it is dropped, and a new
// epoch begins.
//
// TableClock is safe for use by many goroutines.
type TableClock struct {
	report  SkewReport
	maxSkew time.Duration

	mu           sync.Mutex // guards what follows
	lower, upper bound
	epoch        int
	skew         skew
}

// bound is one side of what is known: what the table's clock showed, at least
// or at most, when ElapsedMin or ElapsedMax was 0.
type bound struct {
	origin time.Time
	seenAt time.Duration // on ElapsedMax
}

// skew is the side to which the wall clock is off.
type skew int

const (
	noSkew skew = iota
	ahead
	behind
)

// SkewReport is called when this machine's wall clock is ahead of the table's
// by off, or behind it by -off, and once that is over, with 0.
type SkewReport func(off time.Duration)

// NewTableClock returns a clock that knows nothing yet. It calls report, if
// that isn't nil, when the wall clock is off by more than maxSkew for certain.
// The default of maxSkew is [DefaultMaxSkew].
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
	upper := bound{a.Date.Add(dateLag - a.Sent.ElapsedMax), a.Sent.ElapsedMax}
	seen := interval(lower, upper, a.Received)

	c.mu.Lock()
	known := interval(c.lower, c.upper, a.Received)
	if c.epoch == 0 || seen.Earliest.After(known.Latest) || seen.Latest.Before(known.Earliest) {
		c.lower, c.upper = lower, upper
		c.epoch++
	} else {
		if seen.Earliest.After(known.Earliest) {
			c.lower = lower
		}
		if seen.Latest.Before(known.Latest) {
			c.upper = upper
		}
	}
	off, changed := c.compareWall(a.Received)
	c.mu.Unlock()
	if changed && c.report != nil {
		c.report(off)
	}
}

// compareWall compares the wall clock with what is known. It needs c.mu.
func (c *TableClock) compareWall(at clock.Reading) (off time.Duration, changed bool) {
	known := interval(c.lower, c.upper, at)
	now := noSkew
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
	i := interval(c.lower, c.upper, at)
	i.Epoch = c.epoch
	return i
}

func interval(lower, upper bound, at clock.Reading) Interval {
	return Interval{
		Earliest: lower.origin.Add(at.ElapsedMin - lower.drift(at)),
		Latest:   upper.origin.Add(at.ElapsedMax + upper.drift(at)),
	}
}

// drift is how far the oscillator can have drifted between b and at.
func (b bound) drift(at clock.Reading) time.Duration {
	return (at.ElapsedMax - b.seenAt).Abs() / driftRatio
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
