package lock

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	// Guard is how long a row outlives its lease: at least [MinGuard]. The
	// default is [DefaultGuard]. All processes that share a table should use
	// the same.
	Guard time.Duration
	// MaxLease is the longest lease that a call may request. The default is
	// [DefaultMaxLease].
	MaxLease time.Duration
	// Events observes what happens.
	Events Events
	// Jitter returns a random number in [0, 1) for pauses. The default is
	// [rand.Float64].
	Jitter func() float64
	// Timeout bounds one request to the table. The default is
	// [context.WithTimeout]. Together with a [clock.Clock] it lets a simulation
	// control all time.
	Timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// Locks acquires locks for the callers of one process. It is safe for use by
// many goroutines.
type Locks struct {
	protocol
	maxLease time.Duration
	local    *queue // the locks of scope Local
	rows     *queue // in front of the rows: one caller at a time sends requests
}

// New returns the locks of a process. Without a table, which may be nil, it is
// an error to acquire a lock of scope [DB]. tableTime is the time of that
// table, a [TableClock] or a [MachineClock].
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

// MaxLease is the longest lease that a call may request.
func (l *Locks) MaxLease() time.Duration { return l.maxLease }

// Acquire acquires a lock. Its error is [ErrHeld] if the lock could not be
// acquired in time because it is held; otherwise it is the table's, the
// budget's, or the cause of ctx, which should end with the run of the caller.
// Whatever the error, no row is left behind that this call knows of.
//
// A lease has to be given up by [Lease.Release] or [Lease.LetExpire], once what
// it protects has really ended.
func (l *Locks) Acquire(ctx context.Context, req Request) (*Lease, error) {
	started := req.Started
	if started == (clock.Reading{}) {
		started = l.clock.Read()
	}
	if err := req.check(l.maxLease); err != nil {
		return nil, err
	}
	if req.Held.has(req.id()) {
		return nil, l.reentered(req)
	}
	if !req.Turn && req.Wait >= req.Lease {
		req.warn(fmt.Sprintf(
			"wait_ms (%v) is not below lease_ms (%v): waiting uses the lease up; native.lock.turn is for long waits",
			inMillis(req.Wait), inMillis(req.Lease)))
	}
	acquire := l.acquireRow
	if req.Scope == Local {
		acquire = l.acquireLocal
	}
	lease, err := acquire(ctx, req, started)
	if l.events.Acquire != nil { // otherwise the clock need not be read
		l.events.Acquire(AcquireEvent{
			Key: req.Key, Scope: req.Scope, By: req.By,
			Waited: l.clock.ElapsedMax() - started.ElapsedMax, Acquired: err == nil,
		})
	}
	if err == nil {
		req.Held.add(req.id())
	}
	return lease, err
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// reentered is the error of a run that tries to acquire what it holds itself.
func (l *Locks) reentered(req Request) error {
	if req.Turn {
		return errReentered(req.Key)
	}
	req.warn("this run already holds the lock, and locks are not reentrant: not acquired")
	return ErrHeld
}

func (l *Locks) acquireLocal(ctx context.Context, req Request, started clock.Reading) (*Lease, error) {
	s, err := l.local.enter(ctx, req.Key, req.waitEnd(started.ElapsedMax), req.noWait())
	if err != nil {
		return nil, err
	}
	leaseFrom := started.ElapsedMax
	now := l.clock.ElapsedMax()
	if req.Turn {
		leaseFrom = now
	}
	end := leaseFrom + req.holderLease()
	if now >= end {
		l.local.leave(s)
		return nil, ErrHeld
	}
	row := Row{Key: req.Key, By: req.By}
	return l.lease(req, l.local, s, grant{row, end}, now), nil
}

func (l *Locks) acquireRow(ctx context.Context, req Request, started clock.Reading) (lease *Lease, err error) {
	if l.table == nil {
		return nil, errNoTable(req.Key)
	}
	waitEnd := req.waitEnd(started.ElapsedMax)
	s, err := l.rows.enter(ctx, req.Key, waitEnd, req.noWait())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.rows.leave(s)
		}
	}()
	if err := l.coolDown(ctx, s.cooldownEnd, waitEnd); err != nil {
		return nil, err
	}
	a := newAcquisition(&l.protocol, req, started)
	g, err := a.acquire(ctx)
	if a.refused {
		s.noteLost()
	}
	if err != nil {
		return nil, err
	}
	now := l.clock.ElapsedMax()
	s.noteAcquired(now)
	return l.lease(req, l.rows, s, *g, now), nil
}

// coolDown waits until the cooldown of the queue ends, in which other processes
// may acquire the lock. It returns [ErrHeld] if the caller's own wait ends
// before.
func (l *Locks) coolDown(ctx context.Context, end, waitEnd time.Duration) error {
	now := l.clock.ElapsedMax()
	if end <= now {
		return nil
	}
	if l.clock.Sleep(ctx, min(end, waitEnd)-now) != nil {
		return context.Cause(ctx)
	}
	if end > waitEnd {
		return ErrHeld
	}
	return nil
}

func (l *Locks) lease(req Request, q *queue, s *slot, g grant, now time.Duration) *Lease {
	return &Lease{
		Row: g.row, End: g.end, scope: req.Scope, held: req.Held, warn: req.Warn, hostEnd: req.HostEnd,
		locks: l, queue: q, slot: s, acquiredAt: now,
	}
}
