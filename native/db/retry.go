package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native"
)

const (
	// attemptsMax is how many requests a verb makes at most for one answer.
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

// Account is what a verb needs of the run that it works for. It is used by one
// goroutine at a time.
type Account interface {
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
	account Account
	quota   *quota
	op, key string
	// price of each attempt in data operations: one per key or entry.
	price int64
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
func (c *call) do(once func(context.Context) native.Attempt) (native.Outcome, error) {
	for {
		if err := c.account.Spend(c.price); err != nil {
			return c.giveUp(err)
		}
		a := c.attempt(once)
		switch a.Outcome {
		case native.Applied, native.Refused:
			return a.Outcome, nil
		case native.Unknown:
			c.lost++
		}
		if !c.again(a) {
			return c.giveUp(a.Err)
		}
	}
}

// attempt makes one request, within its own time and the run's.
func (c *call) attempt(once func(context.Context) native.Attempt) native.Attempt {
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
	if a.Outcome == native.Unknown {
		c.settled = append(c.settled, settled)
	} else {
		settled()
	}
	return a
}

// again decides whether another attempt is to follow a, and if so waits.
func (c *call) again(a native.Attempt) bool {
	known := cause(a.Err)
	switch {
	case c.ctx.Err() != nil,
		c.attempts >= attemptsMax,
		c.writes && c.lost > c.lostMax,
		a.Outcome == native.NotApplied && !known.Retryable:
		return false
	}
	base := pauseBase
	if known.Code == CodeThrottled {
		base = pauseBaseThrottled
	}
	return c.quota.take(c.db.hands.Fast()) && c.db.pause(c.ctx, c.account, base, c.attempts)
}

// pause waits for the n-th time, n from 1. It is false if the run's time would
// be over afterwards.
func (d *DB) pause(ctx context.Context, account Account, base time.Duration, n int) bool {
	pause := rand.N(min(base<<(n-1), pauseMax))
	if left, ok := account.Remaining(); ok && pause+reserve > left {
		return false
	}
	return d.hands.Sleep(ctx, pause) == nil
}

// settle tells the account that nothing of this call is on the way any more.
func (c *call) settle() {
	for _, settled := range c.settled {
		settled()
	}
}

// giveUp makes the error to raise of what went wrong last.
func (c *call) giveUp(err error) (native.Outcome, error) {
	if c.lost > 0 && c.writes {
		return native.Unknown, c.unknown(err)
	}
	e := *cause(err)
	e.Op, e.Key = c.op, c.key
	if e.Applied = ""; c.writes {
		e.Applied = native.AppliedNo
	}
	return native.NotApplied, &e
}

// unknown is the error for a write of which nobody knows whether it was
// applied.
func (c *call) unknown(err error) error {
	return &native.Error{
		Code:    CodeUnknown,
		Message: "the write was sent, and it could not be found out whether it was applied",
		Op:      c.op, Key: c.key,
		Applied: native.AppliedUnknown,
		Cause:   err,
	}
}

// cause returns the *native.Error in err, or makes one that tells scripts
// nothing of it.
func cause(err error) *native.Error {
	var known *native.Error
	if errors.As(err, &known) {
		return known
	}
	return &native.Error{Code: CodeUnavailable, Message: "the store can't be reached", Retryable: true, Cause: err}
}
