package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	releaseMax   = 2 * time.Second // all attempts of a release, pauses included
	releaseTries = 3
	releasePause = 100 * time.Millisecond // the longest pause between two of them
)

// ReleaseResult is how a lease was given up.
type ReleaseResult int

const (
	// Freed: the row, or the place in the queue, is free.
	Freed ReleaseResult = iota
	// Lost: the row was no longer the holder's when it was released. It had
	// run out, or an operator had freed it.
	Lost
	// Failed: no delete was answered. The row runs out by itself.
	Failed
	// Kept: the row was left to run out, see [Lease.LetExpire].
	Kept
)

// String returns f in lower case.
func (f ReleaseResult) String() string {
	return [...]string{"freed", "lost", "failed", "kept"}[f]
}

// release deletes a row that is ours. It doesn't end with ctx: a script whose
// time is over must still be able to free what it held. It ends after 2 s, or
// when the fast hand reaches hostEnd if that isn't 0.
func (p *protocol) release(ctx context.Context, key Key, owner string, hostEnd time.Duration) (ReleaseResult, error) {
	ctx = clock.Detach(ctx)
	end := releaseEnd(p.clock.ElapsedMax(), hostEnd)
	last := errNoTime(key)
	unknown := false
	for n := range releaseTries {
		if n > 0 {
			pause := time.Duration(p.jitter() * float64(releasePause))
			_ = p.clock.Sleep(ctx, min(pause, end-p.clock.ElapsedMax())) // ctx has no end
		}
		left := end - p.clock.ElapsedMax()
		if left <= 0 {
			break
		}
		answer := p.delete(ctx, key, owner, min(attemptMax, left))
		switch answer.Outcome {
		case outcome.Applied:
			return Freed, nil
		case outcome.Refused:
			if unknown {
				// The delete before this one got through, most likely. Either
				// way the row is not ours any more.
				p.events.healed(key)
				return Freed, nil
			}
			return Lost, nil
		case outcome.Unknown:
			unknown = true
		}
		if last = trouble(key, answer.Attempt); fatal(answer.Attempt, last) != nil {
			break
		}
	}
	return Failed, last
}

func releaseEnd(now, hostEnd time.Duration) time.Duration {
	end := now + releaseMax
	if hostEnd > 0 {
		end = min(end, hostEnd)
	}
	return end
}

// giveUp sends one delete if a put that we sent may have got through, or may
// still. Its answer changes nothing: a row that stays behind runs out.
func (a *acquisition) giveUp(ctx context.Context) {
	if len(a.open) == 0 {
		return
	}
	now := a.clock.ElapsedMax()
	if left := releaseEnd(now, a.req.HostEnd) - now; left > 0 {
		a.delete(clock.Detach(ctx), a.req.Key, a.owner, min(attemptMax, left))
	}
}

// delete sends one conditional delete.
func (p *protocol) delete(ctx context.Context, key Key, owner string, limit time.Duration) RowResult {
	bounded, cancel := p.timeout(ctx, limit)
	defer cancel()
	answer := p.table.DeleteLock(bounded, key, owner)
	p.time.Observe(answer.Attempt)
	return answer
}

// trouble is the error of an attempt that had no usable answer, as a script
// sees it; nil for one that had.
func trouble(key Key, at outcome.Attempt) error {
	if at.Outcome == outcome.Applied || at.Outcome == outcome.Refused {
		return nil
	}
	e := outcome.Error{Code: CodeUnavailable, Message: "the table did not answer", Retryable: true, Cause: at.Err}
	if known, ok := errors.AsType[*outcome.Error](at.Err); ok {
		e = *known
	}
	e.Op, e.Key = opLock, key.Name
	return &e
}

// fatal returns err if the attempt shows that asking again is of no use: there
// is no such table, or no access to it.
func fatal(at outcome.Attempt, err error) error {
	known, ok := errors.AsType[*outcome.Error](at.Err)
	if at.Outcome == outcome.NotApplied && ok && !known.Retryable {
		return err
	}
	return nil
}

// Codes of the errors that this package makes, and their Op.
const (
	CodeUnavailable = "db_unavailable"
	CodeBudget      = "db_budget"
	CodeReentered   = "lock_reentered"
	opLock          = "lock"
)

// ErrHeld is the error of a call that could not acquire a lock in time because
// it is held.
var ErrHeld = errors.New("the lock is held")

// BudgetError is the error of a call that may send no more requests because the
// budget called name, of limit requests, is used up.
func BudgetError(key Key, name string, limit int64) error {
	return newError(CodeBudget, key, false, "%s: all %d are used up", name, limit)
}

func newError(code string, key Key, retryable bool, format string, args ...any) error {
	return &outcome.Error{
		Code: code, Message: fmt.Sprintf(format, args...), Retryable: retryable,
		Op: opLock, Key: key.Name, Applied: outcome.AppliedNo,
	}
}

func errNoTable(key Key) error {
	return newError(CodeUnavailable, key, false,
		"locks of scope \"db\" need a table: set db.table or db.file in the configuration")
}

func errSlow(key Key) error {
	return newError(CodeUnavailable, key, true,
		"the table's time is not known to %v: its answer was too slow or had no date", knownWithin)
}

func errNoTime(key Key) error {
	return newError(CodeUnavailable, key, true, "the host ended before the table could be asked")
}

func errContradicted(key Key) error {
	return newError(CodeUnavailable, key, true,
		"the table's clock contradicts its earlier answers")
}

func errReentered(key Key) error {
	return newError(CodeReentered, key, false,
		"this run already holds %q, so its turn can never come", key.Name)
}
