package schedule

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/locktable"
)

// beginTime is how much longer a lease is than the time limit of the script, for
// what comes before the run.
const beginTime = 5 * time.Second

// noteTime bounds the note that a run has ended.
const noteTime = 1500 * time.Millisecond

// try gets a slot and the lock, and runs what is due then. It returns false if
// either can't be had.
func (l *loop) try(ctx context.Context) (done bool, err error) {
	slot, ok := l.config.Host.Slot(ctx, l.Tenant, l.Script)
	if !ok {
		return false, nil
	}
	id := runtime.NewID(time.Now())
	lease, err := l.acquire(ctx, id)
	if err != nil {
		slot.Release()
		if errors.Is(err, lock.ErrHeld) {
			return l.overlap(ctx)
		}
		return false, err
	}
	begun, err := l.begin(ctx, slot, id, lease)
	if begun == nil {
		lease.Release(ctx)
		slot.Release()
		return err == nil, err
	}
	if slot.Run(l.Name, begun.work, begun.failed) {
		lease.Release(ctx)
	} else {
		lease.LetExpire() // the run may go on
	}
	l.noteEnd(begun.cursor)
	return true, nil
}

// acquire returns the schedule's lock for a run, or [lock.ErrHeld] if another run
// has it.
func (l *loop) acquire(ctx context.Context, id string) (*lock.Lease, error) {
	lease := l.timeout + beginTime
	if lease < l.timeout { // as long as can be said
		lease = l.config.Locks.MaxLease()
	}
	return l.config.Locks.Acquire(ctx, lock.Request{
		Key: l.lock, Lease: min(lease, l.config.Locks.MaxLease()),
		By: lock.Holder{HostKind: "task", HostName: l.config.HostName, Process: l.config.Process, Run: id, Script: l.Script},
	})
}

// begun is a run that has begun.
type begun struct {
	cursor cursor
	work   *runtime.Invocation
	failed *runtime.Error // why it can't be run
}

// begin decides, under the lock, what is due, and writes that it has begun. It
// returns nil if there is nothing to run.
func (l *loop) begin(ctx context.Context, slot Slot, id string, lease *lock.Lease) (*begun, error) {
	c, err := l.document.read(ctx, l.since)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	d := l.decide(l.recurrence, c, now)
	if d.run.IsZero() {
		if !d.last.IsZero() {
			l.drop(ctx, c, d)
		}
		return nil, nil
	}
	left := lease.End - l.config.Clock.ElapsedMax()
	if left <= 0 {
		return nil, nil
	}
	// A script that can't be read now may be later: nothing has begun yet.
	if _, failed := l.invocation(d.run); failed != nil && failed.Retryable {
		return nil, cmp.Or(failed.Cause, error(failed))
	}
	runs, ok := slot.Reserve()
	if !ok {
		return nil, nil
	}
	// Once this write is sent, its outcome has to be known, also when the host
	// stops.
	written, ok, err := l.document.write(runs, cursor{last: d.last, run: id, busy: now.Add(left), rev: c.rev})
	if err != nil || !ok {
		return nil, err
	}
	l.logDropped(d)
	work, failed := l.invocation(d.run)
	work.ID = id
	work.Limits.Timeout = max(min(l.timeout, lease.End-l.config.Clock.ElapsedMax()), time.Millisecond)
	return &begun{written, work, failed}, nil
}

// invocation is what to run for a due time. If that fails, it is enough to log
// the failure with.
func (l *loop) invocation(due time.Time) (*runtime.Invocation, *runtime.Error) {
	event, err := l.event(due)
	work, failed := l.config.Tenants.Resolve(string(l.Tenant), l.Script, event)
	if err != nil {
		failed = runtime.Errorf(runtime.EventInvalid, "%v", err)
	}
	if failed != nil {
		return &runtime.Invocation{Tenant: l.Tenant, Script: l.Script}, failed
	}
	return work, nil
}

// event is what the script is called with.
func (l *loop) event(due time.Time) ([]byte, error) {
	event := value.Map{"schedule": l.Name, "planned_at": due.UTC().Format("2006-01-02T15:04:05.000Z")}
	if len(l.Event) > 0 {
		configured, err := json.Decode(l.Event)
		if err != nil {
			return nil, err
		}
		event["event"] = configured
	}
	return json.Encode(event, "event", runtime.EventBytesMax)
}

// noteEnd writes that a run has ended, so that what was due meanwhile counts as
// waiting and what comes later doesn't. If that fails, more counts as waiting.
func (l *loop) noteEnd(c cursor) {
	if l.Overlap != OverlapQueue {
		return
	}
	c.busy = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	_, _, _ = l.document.write(ctx, c)
}

// overlap drops what is due, if the lock is held by the run that began last.
func (l *loop) overlap(ctx context.Context) (done bool, err error) {
	c, err := l.document.read(ctx, l.since)
	if err != nil {
		return false, err
	}
	d := l.decideOverlap(l.recurrence, c, time.Now())
	if d.last.IsZero() || c.run == "" {
		return false, nil
	}
	row, err := locktable.Holder(ctx, l.config.Table, l.lock)
	if err != nil || row == nil || row.By.Run != c.run {
		return false, err
	}
	return l.drop(ctx, c, d), nil
}
