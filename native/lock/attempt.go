package lock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"math"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	attemptMax = 1500 * time.Millisecond // one attempt may take this long, or what is left of the lease

	pauseFirst  = 25 * time.Millisecond
	pauseGrowth = 1.6
	pauseMax    = time.Second
	pauseNone   = time.Duration(math.MaxInt64) // no reason to cut a pause

	// pauseMoving is the longest pause in front of a lock that goes from hand to
	// hand. It is shorter than the shortest rest that the callers of one process
	// leave to others, so that no rest is slept through.
	pauseMoving = 300 * time.Millisecond

	// lastLook is how long before the end of a wait the last attempt starts.
	// Timers are a little late, and none may start after the end.
	lastLook = 2 * time.Millisecond
	// lastUse is the shortest rest of a lease that is worth another attempt.
	lastUse = 250 * time.Millisecond
)

// protocol is what all calls of a process share to ask for rows. It blocks
// only in its table and its clock, so that a simulation can run it.
type protocol struct {
	clock   *clock.Dual
	table   Table
	time    TableTime
	guard   time.Duration
	events  Events
	jitter  func() float64
	timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// acquisition is one call's way to one row.
type acquisition struct {
	*protocol
	req   Request
	asked clock.Reading // when asking began

	owner   string
	era     int           // of the table's time when the first put under owner was made
	open    []try         // puts under owner whose outcome isn't known
	started int           // attempts
	row     *Row          // what the last attempt was refused for
	now     UnixMilli     // the last put's :now
	failed  error         // why the last attempt had no usable answer
	pause   time.Duration // the longest that the next pause may be
	holder  string        // the owner that the last put was refused for
	moving  bool          // it was another one than the time before
	refused bool          // some put was refused: another process has had the lock
}

// try is one put that was sent.
type try struct {
	row  Row
	from time.Duration // fast hand: the lease counts from here
}

// grant is a row that is ours.
type grant struct {
	row Row
	end time.Duration // of the lease, on the fast hand
}

// acquire asks until the row is ours, the wait is over ([ErrHeld], or why the
// last attempt had no usable answer), or asking has to end with an
// error. No row is left behind that this call knows of.
func (a *acquisition) acquire(ctx context.Context) (*grant, error) {
	a.pause = pauseFirst
	a.renew()
	for more := true; more && a.mayStart(); {
		a.started++
		g, err := a.attempt(ctx)
		if g != nil {
			return g, nil
		}
		if err == nil {
			more, err = a.wait(ctx)
		}
		if err != nil {
			a.giveUp(ctx)
			return nil, err
		}
	}
	a.giveUp(ctx)
	return nil, cmp.Or(a.failed, ErrHeld)
}

// renew takes an owner that nobody has had.
func (a *acquisition) renew() { a.owner, a.open = newOwner(), nil }

// newOwner returns 128 random bits. They are drawn for every call: what is
// drawn at start-up is the same in every clone of a snapshot.
func newOwner() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// mayStart says whether an attempt may still start: not after the wait, unless
// it is the one that a call without a wait has.
func (a *acquisition) mayStart() bool {
	if a.req.Turn {
		return true
	}
	now := a.clock.ElapsedMax()
	return now < a.leaseEnd() && (now <= a.waitEnd() || a.started == 0 && a.req.once())
}

func (a *acquisition) leaseEnd() time.Duration { return a.asked.ElapsedMax + a.req.runFor() }

// waitEnd is when the last attempt may start. One that is cut short by the end
// of the lease has no usable answer and would turn a refusal into an error, so
// the last tenth of the lease, at most lastUse, is left alone.
func (a *acquisition) waitEnd() time.Duration {
	return min(a.req.waitEnd(a.asked.ElapsedMax), a.leaseEnd()-min(a.req.runFor()/10, lastUse))
}

// attempt asks once, for the table's time first if that isn't known. Its
// error ends the asking.
func (a *acquisition) attempt(ctx context.Context) (*grant, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	now := a.clock.Read()
	w := a.time.At(now)
	if !w.Known() {
		before := a.failed
		if err := a.learnTime(ctx); err != nil {
			return nil, err
		}
		now = a.clock.Read()
		switch w = a.time.At(now); {
		case !w.Known():
			if a.failed == nil {
				a.failed = errSlow(a.req.Key)
			}
			return nil, nil
		case a.over(now):
			if a.failed == nil {
				a.failed = before
			}
			return nil, nil
		}
	}
	if err := a.req.spend(); err != nil {
		return nil, err
	}
	return a.put(ctx, now, w)
}

// attemptLimit is how long the next request may take.
func (a *acquisition) attemptLimit() time.Duration {
	left := a.req.runFor()
	if !a.req.Turn {
		left = a.leaseEnd() - a.clock.ElapsedMax()
	}
	return min(attemptMax, left)
}

// over says that the lease has ended before an attempt could be sent.
func (a *acquisition) over(now clock.Reading) bool {
	return !a.req.Turn && now.ElapsedMax >= a.leaseEnd()
}

// learnTime asks for the table's time. The first answer of a new connection may
// take so long that it doesn't tell it well enough; what is left of the
// attempt's time is used to ask once more.
func (a *acquisition) learnTime(ctx context.Context) error {
	end := a.clock.ElapsedMax() + a.attemptLimit()
	for range 2 {
		if err := a.askTime(ctx, end-a.clock.ElapsedMax()); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		now := a.clock.Read()
		if w := a.time.At(now); a.failed != nil || w.Epoch == 0 || w.Known() || now.ElapsedMax >= end {
			break
		}
	}
	return nil
}

// askTime sends a request that changes nothing, because its owner is nobody:
// its answer tells the table's time.
func (a *acquisition) askTime(ctx context.Context, limit time.Duration) error {
	a.row = nil
	answer := a.delete(ctx, a.req.Key, newOwner(), limit)
	a.failed = trouble(a.req.Key, answer.Attempt)
	return fatal(answer.Attempt, a.failed)
}

// put sends one put and judges its answer.
func (a *acquisition) put(ctx context.Context, now clock.Reading, w Interval) (*grant, error) {
	t := a.newTry(now)
	if len(a.open) == 0 {
		a.era = w.Epoch
	}
	a.now = stampDown(w.Earliest)

	bounded, cancel := a.timeout(ctx, a.attemptLimit())
	answer := a.table.PutLock(bounded, t.row, a.now)
	cancel()
	a.time.Observe(answer.Attempt)
	a.events.attempted(a.req.Key, answer.Outcome)

	a.row, a.failed = nil, trouble(a.req.Key, answer.Attempt)
	switch answer.Outcome {
	case outcome.Applied:
		return a.granted(ctx, t)
	case outcome.Refused:
		if old := answer.Old; old != nil && old.Owner == a.owner {
			a.events.healed(a.req.Key)
			return a.granted(ctx, a.earlier(*old, t))
		}
		a.row, a.refused = answer.Old, true
		a.look(answer.Old)
	case outcome.Unknown:
		a.open = append(a.open, t)
	}
	return nil, fatal(answer.Attempt, a.failed)
}

// look notes whether the lock has changed hands since the last look.
func (a *acquisition) look(row *Row) {
	before := a.holder
	if row != nil {
		a.holder = row.Owner
	}
	a.moving = before != "" && before != a.holder
}

// newTry makes the row of a put that is sent now.
func (a *acquisition) newTry(now clock.Reading) try {
	from := a.asked
	if a.req.Turn {
		from = now
	}
	start := stampUp(a.time.At(from).Latest)
	return try{from: from.ElapsedMax, row: Row{
		Key:   a.req.Key,
		Owner: a.owner,
		Start: start,
		Until: start + kept(a.req.Lease, a.guard),
		By:    a.req.By,
	}}
}

// kept is for how long a row keeps others out: the lease, what a machine's
// oscillator may be off by meanwhile, and the guard.
func kept(lease, guard time.Duration) UnixMilli {
	lease = ceilMillis(lease)
	return UnixMilli(ceilMillis(lease+lease/drift+guard) / time.Millisecond)
}

func ceilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// earlier finds the put that got through before the last one did. Where more
// than one wrote the same row, the one that was sent first counts.
func (a *acquisition) earlier(row Row, last try) try {
	for _, t := range append(a.open, last) {
		if t.row.Start == row.Start && t.row.Until == row.Until {
			return try{row: row, from: t.from}
		}
	}
	return try{row: row, from: a.asked.ElapsedMax}
}

// granted makes a lease of a row that is ours, unless there is no use in it:
// then the row is freed, and the next attempt needs another owner.
func (a *acquisition) granted(ctx context.Context, t try) (*grant, error) {
	now := a.clock.Read()
	end := t.from + a.req.runFor()
	err := context.Cause(ctx)
	switch {
	case err != nil:
	case a.time.At(now).Epoch != a.era:
		a.failed = errContradicted(a.req.Key)
	case now.ElapsedMax >= end:
	default:
		return &grant{row: t.row, end: end}, nil
	}
	a.release(ctx, a.req.Key, a.owner, a.req.HostEnd)
	a.renew()
	return nil, err
}

// wait pauses before the next attempt, never past the moment at which the row
// in the way has run out or the last attempt may start. It returns false if
// there is no time for another one.
func (a *acquisition) wait(ctx context.Context) (more bool, err error) {
	now := a.clock.Read()
	pause := min(a.nextPause(), a.untilFree(now))
	if !a.req.Turn {
		left := a.waitEnd() - now.ElapsedMax - lastLook
		if left <= 0 {
			return false, nil
		}
		pause = min(pause, left)
	}
	if a.clock.Sleep(ctx, pause) != nil {
		return false, context.Cause(ctx)
	}
	return true, nil
}

// nextPause is the growing pause with full jitter, which spreads the attempts
// of many processes best. In front of a lock that goes from hand to hand it
// stops growing early: there its rest is what to look for.
func (a *acquisition) nextPause() time.Duration {
	if a.req.Poll > 0 {
		return a.about(a.req.Poll)
	}
	if a.moving && a.pause >= pauseMoving {
		return a.about(pauseMoving)
	}
	pause := time.Duration(a.jitter() * float64(a.pause))
	a.pause = min(time.Duration(float64(a.pause)*pauseGrowth), pauseMax)
	return pause
}

// about is a pause between half of d and d.
func (a *acquisition) about(d time.Duration) time.Duration {
	return d - time.Duration(a.jitter()*float64(d/2))
}

// untilFree is the time until our :now reaches the until of the row in the
// way.
func (a *acquisition) untilFree(now clock.Reading) time.Duration {
	if a.row == nil || a.row.Until <= a.now {
		return pauseNone
	}
	until := a.row.Until.Time()
	d := max(until.Sub(a.time.At(now).Earliest), 0)
	// The bound loosens while we wait, so :now will lag behind a little.
	then := clock.Reading{Wall: now.Wall.Add(d), ElapsedMax: now.ElapsedMax + d, ElapsedMin: now.ElapsedMin + d}
	short := max(until.Sub(a.time.At(then).Earliest), 0)
	return d + short + short/1000
}
