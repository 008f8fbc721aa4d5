package lock

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	releaseMax      = 2 * time.Second // all attempts of a release, pauses included
	releaseAttempts = 3
	releasePause    = 100 * time.Millisecond // the longest pause between two of them
)

// ReleaseResult is how a lease was given up.
type ReleaseResult int

const (
	// Freed: the row was deleted. A [Local] lock is always freed.
	Freed ReleaseResult = iota
	// Lost: the row was no longer the holder's when it was released. It had
	// run out, or an operator had freed it.
	Lost
	// Failed: no delete was answered. The row runs out by itself.
	Failed
	// Kept: the row was left to run out, see [Lease.LetExpire].
	Kept
)

// String returns r in lower case.
func (r ReleaseResult) String() string {
	return [...]string{"freed", "lost", "failed", "kept"}[r]
}

// release deletes a row that is ours. It doesn't end with ctx: a script whose
// time is over must still be able to free what it held. It ends after 2 s, or
// when ElapsedMax reaches hostEnd if that isn't 0.
func (p *protocol) release(ctx context.Context, key Key, owner string, hostEnd time.Duration) (ReleaseResult, error) {
	ctx = clock.Detach(ctx)
	end := releaseEnd(p.clock.ElapsedMax(), hostEnd)
	lastErr := errHostEnded(key)
	inDoubt := false
	for n := range releaseAttempts {
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
			if inDoubt {
				// An earlier delete was applied, most likely. Either way the
				// row is not ours any more.
				p.events.ambiguityResolved(key)
				return Freed, nil
			}
			return Lost, nil
		case outcome.Unknown:
			inDoubt = true
		}
		r := classify(key, answer.Attempt)
		lastErr = r.err
		if r.final {
			break
		}
	}
	return Failed, lastErr
}

func releaseEnd(now, hostEnd time.Duration) time.Duration {
	end := now + releaseMax
	if hostEnd > 0 {
		end = min(end, hostEnd)
	}
	return end
}

// delete sends one conditional delete.
func (p *protocol) delete(ctx context.Context, key Key, owner string, limit time.Duration) RowResult {
	bounded, cancel := p.timeout(ctx, limit)
	defer cancel()
	answer := p.table.DeleteLock(bounded, key, owner)
	p.time.Observe(answer.Attempt)
	return answer
}
