package lock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	// MinGuard is the smallest guard that is accepted; see the package comment.
	MinGuard = time.Second
	// DefaultGuard is the guard of [Options] that don't set one.
	DefaultGuard = 2 * time.Second
	// DefaultMaxLease is the longest lease of [Options] that don't set one.
	DefaultMaxLease = time.Hour
)

// Options configure the locks of a process.
type Options struct {
	// Guard is how long a row outlives its lease: at least [MinGuard], 0 is
	// [DefaultGuard]. All processes that share a table should use the same.
	Guard time.Duration
	// MaxLease is the longest lease that a call may ask for; 0 is
	// [DefaultMaxLease].
	MaxLease time.Duration
	// Events is told what happens.
	Events Events
	// Jitter returns a random number in [0, 1) for pauses; nil is
	// [rand.Float64].
	Jitter func() float64
	// Timeout bounds one request to the table; nil is [context.WithTimeout].
	// Together with a [clock.Clock] it lets a simulation own all time.
	Timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// Locks is where the callers of one process ask for locks. It is safe for use
// by many goroutines.
type Locks struct {
	protocol
	maxLease time.Duration
	local    *queue // the locks of scope Local
	rows     *queue // in front of the rows: one caller at a time asks the table
}

// New returns the locks of a process. table may be nil: then asking for a lock
// of scope [DB] is an error. tableTime is the time of that table, a
// [TableClock] or a [MachineClock].
func New(clk *clock.Dual, table Table, tableTime TableTime, o Options) (*Locks, error) {
	if o.Guard == 0 {
		o.Guard = DefaultGuard
	}
	if o.Guard < MinGuard {
		return nil, fmt.Errorf("lock guard %v: want %v or more", o.Guard, MinGuard)
	}
	if o.MaxLease == 0 {
		o.MaxLease = DefaultMaxLease
	}
	if o.MaxLease < MinLease {
		return nil, fmt.Errorf("longest lease %v: want %v or more", o.MaxLease, MinLease)
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Timeout == nil {
		o.Timeout = context.WithTimeout
	}
	return &Locks{
		protocol: protocol{
			clock: clk, table: table, time: tableTime, guard: o.Guard,
			events: o.Events, jitter: o.Jitter, timeout: o.Timeout,
		},
		maxLease: o.MaxLease,
		local:    newQueue(clk),
		rows:     newQueue(clk),
	}, nil
}

// MaxLease is the longest lease that a call may ask for.
func (l *Locks) MaxLease() time.Duration { return l.maxLease }

// Acquire acquires a lock. Its error is [ErrHeld] if the lock could not be
// acquired in time because it is held; otherwise it is the store's, the
// budget's, or the cause of ctx, which should end with the run of the caller.
// Whatever the error, no row is left behind that this call knows of.
//
// A lease has to be given up by [Lease.Release] or [Lease.LetExpire], after what it
// protects has really ended.
func (l *Locks) Acquire(ctx context.Context, req Request) (*Lease, error) {
	asked := req.Started
	if asked == (clock.Reading{}) {
		asked = l.clock.Read()
	}
	if err := req.check(l.maxLease); err != nil {
		return nil, err
	}
	if req.Held.has(req.lock()) {
		return nil, l.reentered(req)
	}
	if !req.Turn && req.Wait >= req.Lease {
		req.warn(fmt.Sprintf(
			"wait_ms (%v) is not below lease_ms (%v): waiting uses the lease up; native.lock.turn is for long waits",
			inMillis(req.Wait), inMillis(req.Lease)))
	}
	ask := l.acquireRow
	if req.Scope == Local {
		ask = l.acquireLocal
	}
	lease, err := ask(ctx, req, asked)
	if l.events.Acquire != nil { // the clock is read only for somebody
		l.events.Acquire(AcquireEvent{Key: req.Key, Scope: req.Scope, By: req.By, Waited: l.clock.ElapsedMax() - asked.ElapsedMax, Acquired: err == nil})
	}
	if err == nil {
		req.Held.add(req.lock())
	}
	return lease, err
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// reentered answers a run that asks for what it holds itself.
func (l *Locks) reentered(req Request) error {
	if req.Turn {
		return errReentered(req.Key)
	}
	req.warn("this run already holds the lock, and locks are not reentrant: not acquired")
	return ErrHeld
}

func (l *Locks) acquireLocal(ctx context.Context, req Request, asked clock.Reading) (*Lease, error) {
	s, err := l.local.enter(ctx, req.Key, req.waitEnd(asked.ElapsedMax), req.once())
	if err != nil {
		return nil, err
	}
	from := asked.ElapsedMax
	now := l.clock.ElapsedMax()
	if req.Turn {
		from = now
	}
	end := from + req.runFor()
	if now >= end {
		l.local.leave(s)
		return nil, ErrHeld
	}
	row := Row{Key: req.Key, By: req.By}
	return l.lease(req, l.local, s, grant{row, end}, now), nil
}

func (l *Locks) acquireRow(ctx context.Context, req Request, asked clock.Reading) (lease *Lease, err error) {
	if l.table == nil {
		return nil, errNoTable(req.Key)
	}
	s, err := l.rows.enter(ctx, req.Key, req.waitEnd(asked.ElapsedMax), req.once())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.rows.leave(s)
		}
	}()
	if err := l.rest(ctx, s.restEnd, req.waitEnd(asked.ElapsedMax)); err != nil {
		return nil, err
	}
	a := acquisition{protocol: &l.protocol, req: req, asked: asked}
	g, err := a.acquire(ctx)
	if a.refused {
		s.lost()
	}
	if err != nil {
		return nil, err
	}
	now := l.clock.ElapsedMax()
	s.won(now)
	return l.lease(req, l.rows, s, *g, now), nil
}

// rest waits until restEnd, so that other processes get their turn. It returns
// [ErrHeld] if the caller's own wait is over before.
func (l *Locks) rest(ctx context.Context, restEnd, waitEnd time.Duration) error {
	now := l.clock.ElapsedMax()
	if restEnd <= now {
		return nil
	}
	if l.clock.Sleep(ctx, min(restEnd, waitEnd)-now) != nil {
		return context.Cause(ctx)
	}
	if restEnd > waitEnd {
		return ErrHeld
	}
	return nil
}

// Lease is a lock that is held.
type Lease struct {
	// Row is the lock's row as it is in the table. Of a [Local] lock only its
	// Key and By are set.
	Row Row
	// End is the reading of the fast hand at which what the lease protects has
	// to be stopped.
	End time.Duration

	// Of the request, which is large: what is needed at the end.
	scope   Scope
	held    *Held
	warn    func(string) // may be nil
	hostEnd time.Duration

	locks *Locks
	queue *queue
	slot  *slot
	since time.Duration // fast hand
	over  atomic.Bool
}

func (l *Locks) lease(req Request, q *queue, s *slot, g grant, since time.Duration) *Lease {
	return &Lease{
		Row: g.row, End: g.end, scope: req.Scope, held: req.Held, warn: req.Warn, hostEnd: req.HostEnd,
		locks: l, queue: q, slot: s, since: since,
	}
}

// Release gives the lock up. It returns when the table has answered, after 2 s,
// or at the host's end, and doesn't end with ctx, which only carries values.
// How it went is told to [Events.Release], and trouble to [Request.Warn]: it
// must never mask how the work that was protected ended. Giving up again does
// nothing.
func (le *Lease) Release(ctx context.Context) {
	le.giveUp(func() (ReleaseResult, error) {
		if le.scope == Local {
			return Freed, nil
		}
		return le.locks.release(ctx, le.Row.Key, le.Row.Owner, le.hostEnd)
	})
}

// LetExpire gives the lock up without a request: its row runs out by itself, which
// is the guard later than the lease at least. It is for work that left a write
// behind whose outcome isn't known, so that the write lands before the next
// holder starts. A [Local] lock has no row and is free at once.
func (le *Lease) LetExpire() {
	le.giveUp(func() (ReleaseResult, error) { return Kept, nil })
}

func (le *Lease) giveUp(free func() (ReleaseResult, error)) {
	if le.over.Swap(true) {
		return
	}
	defer le.queue.leave(le.slot)
	defer le.held.remove(heldLock{le.Row.Key, le.scope})
	now := le.locks.clock.ElapsedMax()
	how, err := free()
	if how == Failed && le.warn != nil {
		le.warn(fmt.Sprintf("the lock was not freed and runs out by itself: %v", err))
	}
	le.locks.events.released(ReleaseEvent{
		Key: le.Row.Key, Scope: le.scope, By: le.Row.By,
		Held: now - le.since, Lease: le.End - le.since, Overrun: max(now-le.End, 0), Result: how, Err: err,
	})
}
