package task

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// How a planned time is run once, whatever happens to whom:
//
//	sleep until it is due
//	get a slot of the tenant's, like every run
//	take the lock native:schedule/NAME, or come back after a pause
//	read how far the schedule is; go back if somebody else was faster
//	write that this planned time has begun, if nobody else has written since
//	run, and free the lock
//
// The write decides. It is one document with a revision, so of two processes
// that begin the same planned time one is refused, whatever their clocks and
// the lock say. A process that dies before it has written has begun nothing:
// the others see the planned time as not decided, and try until the lock has
// run out. One that dies afterwards has begun it, and nobody else does again.
//
// The lock is for what overlaps: while a run goes on, a later planned time
// isn't begun anywhere. A lock in the way that is held by the run which began
// last means exactly that. Held by anybody else, it is about to be written
// under, and the others wait for that.

// schedule is a schedule that a host keeps.
type schedule struct {
	Schedule
	plan    plan
	host    *Host
	timeout time.Duration // of its runs
	key     db.Key        // of the document that says how far it is
	lock    lock.Key
	since   time.Time // since when the host has it

	trouble string // what was logged last, so that it isn't logged again
}

const (
	// schedulesPartition is where schedules are kept, out of reach of scripts:
	// theirs never begin with "!".
	schedulesPartition = "!schedules"
	// claimTime is what a lease has beyond the time limit of the script, for
	// what comes before the run.
	claimTime = 5 * time.Second
	// keptFor is how long the document of a schedule outlives its last change.
	keptFor = 2 * 366 * 24 * time.Hour
	// lookAgain is the longest sleep without a look at the wall clock, which
	// may be set.
	lookAgain = 10 * time.Second

	claimPause    = 50 * time.Millisecond // before the next look; it doubles
	claimPauseMax = time.Second
)

func newSchedules(h *Host, all []Schedule) ([]*schedule, error) {
	seen := map[lock.Key]bool{}
	var out []*schedule
	for _, one := range all {
		s, p, err := one.withDefaults()
		if err != nil {
			return nil, fmt.Errorf("schedule %.80q of tenant %s: %w", one.Name, one.Tenant, err)
		}
		k := lock.Key{Tenant: s.Tenant, Name: reserved + "schedule/" + s.Name}
		if seen[k] {
			return nil, fmt.Errorf("schedule %s of tenant %s: there are two of that name", s.Name, s.Tenant)
		}
		seen[k] = true
		inv, failed := h.config.Tenants.Resolve(string(s.Tenant), s.Script, s.Event)
		if failed != nil {
			return nil, fmt.Errorf("schedule %s of tenant %s: %s", s.Name, s.Tenant, failed.Message)
		}
		s.Script = inv.Script
		// What is planned differently is another schedule: its past is its own.
		sum := sha256.Sum256([]byte(s.Cron + "\n" + s.Zone))
		out = append(out, &schedule{
			Schedule: s, plan: p, host: h, lock: k, since: time.Now(),
			timeout: inv.Limits.WithDefaults().Timeout,
			key:     db.Key{Partition: s.Tenant.Partition(schedulesPartition), Key: s.Name + "/" + hex.EncodeToString(sum[:8])},
		})
	}
	return out, nil
}

// keep runs what is due until ctx ends. What has begun then is finished.
func (s *schedule) keep(ctx context.Context) {
	for ctx.Err() == nil {
		was, _, err := s.read(ctx)
		if err != nil {
			s.complain(ctx, err)
			sleep(ctx, claimPauseMax)
			continue
		}
		s.trouble = ""
		t := s.plan.next(was.last)
		if t.IsZero() {
			return // not before 2100 or so
		}
		if s.sleepUntil(ctx, t) {
			s.resolve(ctx, t)
		}
	}
}

// sleepUntil sleeps until the wall clock shows t.
func (s *schedule) sleepUntil(ctx context.Context, t time.Time) bool {
	for {
		left := t.Sub(time.Now().Round(0)) // without the monotonic clock
		if left <= 0 {
			return ctx.Err() == nil
		}
		if !sleep(ctx, min(left, lookAgain)) {
			return false
		}
	}
}

// resolve tries until the planned time t is decided, by whomever.
func (s *schedule) resolve(ctx context.Context, t time.Time) {
	pause := claimPause
	for ctx.Err() == nil {
		was, rev, err := s.read(ctx)
		switch {
		case err != nil:
			s.complain(ctx, err)
		case !was.last.Before(t):
			return
		default:
			d := s.decide(s.plan, was, time.Now())
			if !d.last.IsZero() && d.begin.IsZero() {
				s.drop(ctx, was, rev, d)
				continue
			}
			done, err := s.try(ctx)
			if err != nil {
				s.complain(ctx, err)
			}
			if done {
				return
			}
		}
		sleep(ctx, pause)
		pause = min(2*pause, claimPauseMax)
	}
}

// try gets a slot and the lock, and runs what is due then. It returns false if
// something stood in the way.
func (s *schedule) try(ctx context.Context) (done bool, err error) {
	slot, ok := s.host.slot(ctx, s.Schedule)
	if !ok {
		return false, nil
	}
	id := runtime.NewID(time.Now())
	lease, err := s.host.config.Locks.Acquire(ctx, lock.Request{
		Key: s.lock, Lease: min(saturated(s.timeout, claimTime), s.host.config.Locks.MaxLease()),
		By: lock.Holder{
			HostKind: "task", HostName: s.host.config.HostName, Process: s.host.config.Process, Run: id, Script: s.Script,
		},
	})
	if err != nil {
		slot()
		if errors.Is(err, lock.ErrHeld) {
			return s.inTheWay(ctx)
		}
		return false, err
	}
	inv, err := s.begin(ctx, id, lease)
	if inv == nil {
		lease.Release(ctx)
		slot()
		return err == nil, err
	}
	go func() {
		defer slot()
		inv.run()
	}()
	<-inv.done
	if inv.abandoned { // and may go on: its lock runs out by itself
		lease.LetExpire()
	} else {
		lease.Release(ctx)
	}
	s.rest(inv)
	return true, nil
}

// begun is an invocation that has begun, and the schedule's progress with it.
type begun struct {
	*invocation
	run func()
	was progress
	rev string
}

// begin decides, under the lock, what is due, and writes that it has begun. It
// returns nil if there is nothing to run.
func (s *schedule) begin(ctx context.Context, id string, lease *lock.Lease) (*begun, error) {
	was, rev, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	d := s.decide(s.plan, was, now)
	if d.begin.IsZero() {
		if !d.last.IsZero() {
			s.drop(ctx, was, rev, d)
		}
		return nil, nil
	}
	left := lease.End - s.host.config.Clock.ElapsedMax()
	if left <= 0 || !s.host.reserve() {
		return nil, nil
	}
	next := progress{last: d.last, run: id, busy: now.Add(left)}
	// Once this is on its way it has to be known what came of it, also when the
	// host stops.
	written, ok, err := s.write(s.host.life, next, rev)
	if err != nil || !ok {
		s.host.open.Done()
		return nil, err
	}
	s.tell(d)
	inv, run := s.invocation(id, d.begin, lease.End-s.host.config.Clock.ElapsedMax())
	return &begun{inv, run, next, written}, nil
}

// reserve makes the host wait for an invocation that is about to begin, unless
// it takes none any more.
func (h *Host) reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.open.Add(1)
	}
	return !h.draining
}

// invocation makes the invocation of a planned time that has begun, for which
// there is a reservation, and returns how to run it.
func (s *schedule) invocation(id string, planned time.Time, left time.Duration) (*invocation, func()) {
	h := s.host
	event, err := s.event(planned)
	work, wrong := h.config.Tenants.Resolve(string(s.Tenant), s.Script, event)
	if err != nil {
		wrong = runtime.Errorf(runtime.EventInvalid, "%v", err)
	}
	if wrong != nil {
		work = &runtime.Invocation{Tenant: s.Tenant, Script: s.Script}
	}
	inv := &invocation{
		id: id, tenant: s.Tenant, script: s.Script, schedule: s.Name, work: work,
		timeout: max(min(s.timeout, left), time.Millisecond),
	}
	h.prepare(inv)
	h.mu.Lock()
	h.register(inv)
	begun := *h.begin(inv)
	h.mu.Unlock()
	return inv, func() {
		switch {
		case wrong != nil:
			h.settle(inv, failed(inv, wrong), false)
		case h.life.Err() != nil: // since before anybody could cancel it
			h.settle(inv, failed(inv, shutdown()), false)
		default:
			h.execute(inv, begun)
		}
	}
}

// slot waits for a slot for the schedule's script. It returns how to give it
// back, or false if ctx has ended or the host stops.
func (h *Host) slot(ctx context.Context, s Schedule) (leave func(), ok bool) {
	got, never := make(chan struct{}), make(chan struct{})
	t := &ticket{tenant: s.Tenant, script: s.Script, start: func() { close(got) }, refused: func() { close(never) }}
	if h.queue.enter(t) != nil {
		return nil, false
	}
	select {
	case <-got:
	case <-never:
		return nil, false
	case <-ctx.Done():
		if h.queue.withdraw(t) {
			return nil, false
		}
		select {
		case <-got:
		case <-never:
			return nil, false
		}
	}
	return func() { h.queue.leave(t) }, true
}

// rest notes when a run has ended, so that what was planned meanwhile counts
// as waiting and what comes later doesn't. If it can't be noted, more counts as
// waiting.
func (s *schedule) rest(b *begun) {
	if s.Overlap != OverlapQueue {
		return
	}
	next := b.was
	next.busy = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), tableTime)
	defer cancel()
	s.host.config.Store.Write(ctx, s.put(next, b.rev), next.busy.Unix())
}

// inTheWay looks at who has the lock. If it is the run that began last, what
// is due overlaps with it.
func (s *schedule) inTheWay(ctx context.Context) (done bool, err error) {
	was, rev, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	d := s.overlapped(s.plan, was, time.Now())
	if d.last.IsZero() || was.run == "" {
		return false, nil
	}
	// A delete for an owner that nobody is changes nothing, and shows the row.
	var row lock.RowResult
	at := again(ctx, func(ctx context.Context) outcome.Attempt {
		row = s.host.config.Table.DeleteLock(ctx, s.lock, rand.Text())
		return row.Attempt
	})
	switch {
	case at.Outcome != outcome.Refused:
		return false, trouble(ctx, at)
	case row.Old == nil || row.Old.By.Run != was.run:
		return false, nil
	}
	return s.drop(ctx, was, rev, d), nil
}

// drop writes that planned times are decided without a run.
func (s *schedule) drop(ctx context.Context, was progress, rev string, d decision) bool {
	was.last = d.last
	_, ok, err := s.write(ctx, was, rev)
	if err != nil {
		s.complain(ctx, err)
	}
	if ok {
		s.tell(d)
	}
	return ok
}

// tell says what won't be run.
func (s *schedule) tell(d decision) {
	if d.dropped == 0 {
		return
	}
	s.log().Warn("planned times are not run", zap.Int("times", d.dropped), zap.String("reason", d.why), zap.Time("last", d.last.UTC()))
	if dropped := s.host.config.Events.Dropped; dropped != nil {
		dropped(s.Tenant, s.Name, d.dropped)
	}
}

func (s *schedule) log() *zap.Logger {
	return s.host.config.Log.With(zap.String("tenantId", string(s.Tenant)), zap.String("schedule", s.Name), zap.String("script", s.Script))
}

// complain logs trouble, once until there is none any more.
func (s *schedule) complain(ctx context.Context, err error) {
	if text := err.Error(); text != s.trouble && ctx.Err() == nil {
		s.trouble = text
		s.log().Error("the schedule can't be kept and tries again", zap.Error(err))
	}
}

// event is what the script is called with.
func (s *schedule) event(planned time.Time) ([]byte, error) {
	event := value.Map{"schedule": s.Name, "planned_at": planned.UTC().Format("2006-01-02T15:04:05.000Z")}
	if len(s.Event) > 0 {
		given, err := json.Decode(s.Event)
		if err != nil {
			return nil, err
		}
		event["event"] = given
	}
	return json.Encode(event, "event", runtime.EventBytesMax)
}
