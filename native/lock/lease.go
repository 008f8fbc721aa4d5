package lock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Lease is a lock that is held.
type Lease struct {
	// Row is the lock's row as it is in the table. Of a [Local] lock only its
	// Key and By are set.
	Row Row
	// End is the reading of ElapsedMax at which what the lease protects has to
	// be stopped.
	End time.Duration

	// Of the request, which is large: what is needed at the end.
	scope   Scope
	held    *Held
	warn    func(string) // may be nil
	hostEnd time.Duration

	locks      *Locks
	queue      *queue
	slot       *slot
	acquiredAt time.Duration // on ElapsedMax
	givenUp    atomic.Bool
}

// Release gives the lock up. It returns when the table has answered, after 2 s,
// or at the host's end, and doesn't end with ctx, which only carries values.
// The result goes to [Events.Release], and an error to [Request.Warn] as well:
// it must never mask how the protected work ended. A second call does nothing.
func (le *Lease) Release(ctx context.Context) {
	le.giveUp(func() (ReleaseResult, error) {
		if le.scope == Local {
			return Freed, nil
		}
		return le.locks.release(ctx, le.Row.Key, le.Row.Owner, le.hostEnd)
	})
}

// LetExpire gives the lock up without a request: its row runs out by itself,
// which is the guard later than the lease at least. It is for work that left a
// write in doubt, so that the write lands before the next holder starts. A
// [Local] lock has no row and is free at once.
func (le *Lease) LetExpire() {
	le.giveUp(func() (ReleaseResult, error) { return Kept, nil })
}

func (le *Lease) giveUp(free func() (ReleaseResult, error)) {
	if le.givenUp.Swap(true) {
		return
	}
	defer le.queue.leave(le.slot)
	defer le.held.remove(lockID{le.Row.Key, le.scope})
	now := le.locks.clock.ElapsedMax()
	result, err := free()
	if result == Failed && le.warn != nil {
		le.warn(fmt.Sprintf("the lock was not freed and runs out by itself: %v", err))
	}
	le.locks.events.release(ReleaseEvent{
		Key: le.Row.Key, Scope: le.scope, By: le.Row.By,
		Held: now - le.acquiredAt, Lease: le.End - le.acquiredAt, Overrun: max(now-le.End, 0), Result: result, Err: err,
	})
}
