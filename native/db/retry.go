package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// attemptsMax is how many attempts an operation makes at most for one result.
	// Writes to a reserved partition make more.
	attemptsMax = 4
	// attemptTime bounds one attempt.
	attemptTime = 1500 * time.Millisecond
	// The n-th pause is random between 0 and base * 2^(n-1), at most pauseMax.
	pauseBase          = 25 * time.Millisecond
	pauseBaseThrottled = 100 * time.Millisecond
	pauseMax           = time.Second
	// reserve is the time that must remain of the run after a pause. If there is
	// less, another attempt would only be interrupted, and the error of the last
	// one says more.
	reserve = 20 * time.Millisecond
)

// RunScope is what an operation needs of the run that it works for. It is used by
// one goroutine at a time.
type RunScope interface {
	// Spend takes n data operations off the budget, right before the attempt that
	// costs them. If fewer are left, it takes none and returns the error to raise
	// ([CodeBudget]).
	Spend(n int64) error
	// Remaining is the time until the nearest deadline of the run. ok is false if
	// there is none.
	Remaining() (d time.Duration, ok bool)
	// Write is called before each attempt to write. The function it returns is
	// called once the attempt is resolved: it was applied, or it wasn't and can't
	// take effect any more. If it is never called, the attempt stays in doubt.
	Write() (resolved func())
}

// call is one operation, and the attempts that it makes for one result. Nothing
// is repeated anywhere else.
type call struct {
	db      *DB
	ctx     context.Context
	scope   RunScope
	quota   *quota // nil does not bound the repetitions over all calls
	op, key string
	// price is the cost of one attempt in data operations: 1 per key or entry.
	price int64
	// attemptsMax is how many attempts may be made in a row for one result.
	attemptsMax int
	// writes reports whether an attempt may change something. The two below are
	// only for those.
	writes bool
	// unknownMax is after how many attempts of unknown outcome another one may
	// follow.
	unknownMax int
	// staysInDoubt reports whether an attempt of unknown outcome may still take
	// effect after a later one was answered.
	staysInDoubt bool

	attempts int      // made so far for the result
	unknown  int      // of them, those of unknown outcome
	resolved []func() // to be called when those can't take effect any more
}

// do makes attempts until one is applied or refused. Otherwise err is what to
// raise, and the outcome is Unknown if one of them may have been applied.
func (c *call) do(once func(context.Context) outcome.Attempt) (outcome.Outcome, error) {
	for {
		if err := c.scope.Spend(c.price); err != nil {
			return c.fail(err)
		}
		a := c.attempt(once)
		switch a.Outcome {
		case outcome.Applied, outcome.Refused:
			return a.Outcome, nil
		case outcome.Unknown:
			c.unknown++
		}
		if !c.waitToRetry(a) {
			return c.fail(a.Err)
		}
	}
}

// attempt makes one attempt, within its own time and the run's.
func (c *call) attempt(once func(context.Context) outcome.Attempt) outcome.Attempt {
	limit := attemptTime
	if left, ok := c.scope.Remaining(); ok {
		limit = min(limit, left)
	}
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	resolved := func() {}
	if c.writes {
		resolved = c.scope.Write()
	}
	c.attempts++
	a := once(ctx)
	c.db.observe(a)
	if a.Outcome == outcome.Unknown {
		c.resolved = append(c.resolved, resolved)
	} else {
		resolved()
	}
	return a
}

// waitToRetry reports whether another attempt is to follow a, after the pause
// that it makes.
func (c *call) waitToRetry(a outcome.Attempt) bool {
	known := classify(a.Err)
	switch {
	case c.ctx.Err() != nil,
		c.attempts >= c.attemptsMax,
		c.writes && c.unknown > c.unknownMax,
		a.Outcome == outcome.NotApplied && !known.Retryable:
		return false
	}
	base := pauseBase
	if known.Code == CodeThrottled {
		base = pauseBaseThrottled
	}
	return c.quota.take(c.db.clock.ElapsedMax()) && c.db.pause(c.ctx, c.scope, base, c.attempts)
}

// pause makes the n-th pause, n from 1. It returns false if the run has no time
// for another attempt afterwards.
func (d *DB) pause(ctx context.Context, scope RunScope, base time.Duration, n int) bool {
	pause := rand.N(min(base<<(n-1), pauseMax))
	if left, ok := scope.Remaining(); ok && pause+reserve > left {
		return false
	}
	return d.clock.Sleep(ctx, pause) == nil
}

// resolve tells the scope that no attempt of the call can take effect any more.
func (c *call) resolve() {
	for _, resolved := range c.resolved {
		resolved()
	}
}

// fail makes the error to raise after the last attempt failed with err.
func (c *call) fail(err error) (outcome.Outcome, error) {
	if c.unknown > 0 && c.writes {
		return outcome.Unknown, c.unknownError(err)
	}
	e := *classify(err)
	e.Op, e.Key = c.op, c.key
	if e.Applied = ""; c.writes {
		e.Applied = outcome.AppliedNo
	}
	return outcome.NotApplied, &e
}

// unknownError is the error for a write that may or may not have been applied.
func (c *call) unknownError(err error) error {
	return &outcome.Error{
		Code:    CodeUnknown,
		Message: "the write was sent, and it could not be found out whether it was applied",
		Op:      c.op, Key: c.key,
		Applied: outcome.AppliedUnknown,
		Cause:   err,
	}
}

// classify returns the [*outcome.Error] in err. If there is none, it makes one
// that shows scripts nothing of err.
func classify(err error) *outcome.Error {
	var known *outcome.Error
	if errors.As(err, &known) {
		return known
	}
	return &outcome.Error{Code: CodeUnavailable, Message: "the store can't be reached", Retryable: true, Cause: err}
}
