package lock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	// lastAttemptLead is how long before the end of a wait the last attempt
	// starts. Timers are a little late, and none may start after the end.
	lastAttemptLead = 2 * time.Millisecond
	// usefulLease is how much of a lease must be left for another attempt; of a
	// short lease it is a tenth.
	usefulLease = 250 * time.Millisecond
)

// protocol is what all calls of a process share to acquire and release rows. It
// blocks only in its table and its clock, so that a simulation can run it.
type protocol struct {
	clock   *clock.Dual
	table   Table
	time    TableTime
	guard   time.Duration
	events  Events
	jitter  func() float64
	timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// acquisition is what one call does to acquire one row.
type acquisition struct {
	*protocol
	req     Request
	started clock.Reading // when the call began
	backoff backoff

	owner    string
	epoch    int       // of the table's time when the first put under owner was sent
	inDoubt  []sentPut // under owner, with an unknown outcome
	attempts int
	lastErr  error // why the last attempt did not acquire the lock
	refused  bool  // some put was refused: another process has had the lock
}

// grant is a row that is ours.
type grant struct {
	row Row
	end time.Duration // of the lease, on ElapsedMax
}

// result is how one attempt ended.
type result struct {
	grant *grant // the lock was acquired; nil if not
	err   error  // why it was not: ErrHeld if the put was refused
	final bool   // another attempt is of no use: the call ends with err
}

// newAcquisition returns a value, which stays on its caller's stack.
func newAcquisition(p *protocol, req Request, started clock.Reading) acquisition {
	return acquisition{
		protocol: p, req: req, started: started, owner: newOwner(), lastErr: ErrHeld,
		backoff: newBackoff(p.time, req.Poll, p.jitter),
	}
}

// acquire makes attempts until the row is ours, the wait is over or an error is
// final. Its error is that of the last attempt. No row is left behind that this
// call knows of.
func (a *acquisition) acquire(ctx context.Context) (*grant, error) {
	for a.mayStart() {
		a.attempts++
		r := a.attempt(ctx)
		if r.grant != nil {
			return r.grant, nil
		}
		a.lastErr = r.err
		if r.final || !a.pause(ctx) {
			break
		}
	}
	a.cleanUp(ctx)
	return nil, a.lastErr
}

// renewOwner draws a new owner. The outcomes of puts under the old one are of
// no interest any more.
func (a *acquisition) renewOwner() { a.owner, a.inDoubt = newOwner(), nil }

// newOwner returns 128 random bits. They are drawn for every call: what is
// drawn at start-up is the same in every clone of a snapshot.
func newOwner() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// mayStart reports whether another attempt may start: not after the wait, but
// for the only attempt of a call that doesn't wait.
func (a *acquisition) mayStart() bool {
	if a.req.Turn {
		return true
	}
	now := a.clock.ElapsedMax()
	return now < a.leaseEnd() && (now <= a.waitEnd() || a.attempts == 0 && a.req.noWait())
}

func (a *acquisition) leaseEnd() time.Duration { return a.started.ElapsedMax + a.req.holderLease() }

// leaseOver reports whether the lease has ended before an attempt was sent.
func (a *acquisition) leaseOver(now clock.Reading) bool {
	return !a.req.Turn && now.ElapsedMax >= a.leaseEnd()
}

// waitEnd is when the last attempt may start. One that is cut short by the end
// of the lease has no usable answer and would turn a refusal into an error. So
// none starts in the last tenth of the lease, or the last usefulLease of it.
func (a *acquisition) waitEnd() time.Duration {
	return min(a.req.waitEnd(a.started.ElapsedMax), a.leaseEnd()-min(a.req.holderLease()/10, usefulLease))
}

// pause sleeps before the next attempt, never past the moment at which the
// blocking row runs out or the last attempt may start. It returns false if
// there is no time for another attempt, or ctx is done, which is the last error
// then.
func (a *acquisition) pause(ctx context.Context) bool {
	now := a.clock.Read()
	d := a.backoff.next(now)
	if !a.req.Turn {
		left := a.waitEnd() - now.ElapsedMax - lastAttemptLead
		if left <= 0 {
			return false
		}
		d = min(d, left)
	}
	if a.clock.Sleep(ctx, d) != nil {
		a.lastErr = context.Cause(ctx)
		return false
	}
	return true
}

// cleanUp sends one delete if a put of ours is in doubt: it may have been
// stored, or may still be. The answer changes nothing: a row that stays behind
// runs out.
func (a *acquisition) cleanUp(ctx context.Context) {
	if len(a.inDoubt) == 0 {
		return
	}
	now := a.clock.ElapsedMax()
	if left := releaseEnd(now, a.req.HostEnd) - now; left > 0 {
		a.delete(clock.Detach(ctx), a.req.Key, a.owner, min(attemptMax, left))
	}
}
