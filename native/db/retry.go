package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// attemptsMax is how many requests a verb makes at most for one answer, but
	// for writes to a reserved partition.
	attemptsMax = 4
	// attemptTime is how long one request may take.
	attemptTime = 1500 * time.Millisecond
	// The n-th pause is random between 0 and base * 2^(n-1), at most pauseMax.
	pauseBase          = 25 * time.Millisecond
	pauseBaseThrottled = 100 * time.Millisecond
	pauseMax           = time.Second
	// reserve is what has to be left of the run's time after a pause, so that
	// there is time for another request: otherwise the trouble itself is
	// raised, which says more than an interrupt.
	reserve = 20 * time.Millisecond
)

// RunScope is what a verb needs of the run that it works for. It is used by one
// goroutine at a time.
type RunScope interface {
	// Spend pays for a request of n data operations right before it is made. If
	// less is left, it takes nothing and returns the error to raise
	// ([CodeBudget]).
	Spend(n int64) error
	// Remaining is the time until the nearest end of the run; ok is false if
	// there is none.
	Remaining() (d time.Duration, ok bool)
	// Write is called before each attempt to write goes out. What it returns is
	// called once that attempt is known to have been applied or not, or to have
	// no effect any more.
	Write() (settled func())
}

// call is one verb on its way to one answer: the only place where anything is
// repeated.
type call struct {
	db      *DB
	ctx     context.Context
	account RunScope
	quota   *quota // nil if repetitions are not bounded over all calls
	op, key string
	// price of each attempt in data operations: one per key or entry.
	price int64
	// attemptsMax is how many attempts may be made for one answer.
	attemptsMax int
	// writes says that an attempt may change something. The rest concerns
	// only those.
	writes bool
	// lostMax is how many attempts of unknown outcome may be followed by
	// another one.
	lostMax int
	// strays says that an attempt of unknown outcome may still take effect
	// after a later one was answered.
	strays bool

	attempts int      // since something was last achieved
	lost     int      // attempts of unknown outcome
	settled  []func() // to be called once those can't take effect any more
}

// do makes attempts until one decides: applied or refused. Otherwise err is
// what to raise, and the outcome says whether one of them may have been
// applied.
func (c *call) do(once func(context.Context) outcome.Attempt) (outcome.Outcome, error) {
	for {
		if err := c.account.Spend(c.price); err != nil {
			return c.giveUp(err)
		}
		a := c.attempt(once)
		switch a.Outcome {
		case outcome.Applied, outcome.Refused:
			return a.Outcome, nil
		case outcome.Unknown:
			c.lost++
		}
		if !c.again(a) {
			return c.giveUp(a.Err)
		}
	}
}

// attempt makes one request, within its own time and the run's.
func (c *call) attempt(once func(context.Context) outcome.Attempt) outcome.Attempt {
	limit := attemptTime
	if left, ok := c.account.Remaining(); ok {
		limit = min(limit, left)
	}
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	settled := func() {}
	if c.writes {
		settled = c.account.Write()
	}
	c.attempts++
	a := once(ctx)
	c.db.observe(a)
	if a.Outcome == outcome.Unknown {
		c.settled = append(c.settled, settled)
	} else {
		settled()
	}
	return a
}

// again decides whether another attempt is to follow a, and if so waits.
func (c *call) again(a outcome.Attempt) bool {
	known := cause(a.Err)
	switch {
	case c.ctx.Err() != nil,
		c.attempts >= c.attemptsMax,
		c.writes && c.lost > c.lostMax,
		a.Outcome == outcome.NotApplied && !known.Retryable:
		return false
	}
	base := pauseBase
	if known.Code == CodeThrottled {
		base = pauseBaseThrottled
	}
	return c.quota.take(c.db.clock.ElapsedMax()) && c.db.pause(c.ctx, c.account, base, c.attempts)
}

// pause waits for the n-th time, n from 1. It is false if the run's time would
// be over afterwards.
func (d *DB) pause(ctx context.Context, account RunScope, base time.Duration, n int) bool {
	pause := rand.N(min(base<<(n-1), pauseMax))
	if left, ok := account.Remaining(); ok && pause+reserve > left {
		return false
	}
	return d.clock.Sleep(ctx, pause) == nil
}

// settle tells the account that nothing of this call is on the way any more.
func (c *call) settle() {
	for _, settled := range c.settled {
		settled()
	}
}

// giveUp makes the error to raise of what went wrong last.
func (c *call) giveUp(err error) (outcome.Outcome, error) {
	if c.lost > 0 && c.writes {
		return outcome.Unknown, c.unknown(err)
	}
	e := *cause(err)
	e.Op, e.Key = c.op, c.key
	if e.Applied = ""; c.writes {
		e.Applied = outcome.AppliedNo
	}
	return outcome.NotApplied, &e
}

// unknown is the error for a write of which nobody knows whether it was
// applied.
func (c *call) unknown(err error) error {
	return &outcome.Error{
		Code:    CodeUnknown,
		Message: "the write was sent, and it could not be found out whether it was applied",
		Op:      c.op, Key: c.key,
		Applied: outcome.AppliedUnknown,
		Cause:   err,
	}
}

// cause returns the *outcome.Error in err, or makes one that tells scripts
// nothing of it.
func cause(err error) *outcome.Error {
	var known *outcome.Error
	if errors.As(err, &known) {
		return known
	}
	return &outcome.Error{Code: CodeUnavailable, Message: "the store can't be reached", Retryable: true, Cause: err}
}
