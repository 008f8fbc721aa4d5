// Package locktable reads and frees the rows of locks for a host, which holds
// none of them. It repeats requests that were not answered; the lock's own
// protocol is in package lock.
package locktable

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Table is a table of locks whose rows can be listed.
type Table interface {
	lock.Table
	lock.Lister
}

// List reads one page of a tenant's rows.
func List(ctx context.Context, t Table, id tenant.ID, after string) (lock.Page, error) {
	var page lock.Page
	err := repeat(ctx, func(ctx context.Context) outcome.Attempt {
		page = t.ListLocks(ctx, id, after)
		return page.Attempt
	})
	return page, err
}

// Free removes the row of a lock if it has that owner. Otherwise freed is
// false, and row is the row in the way, nil if there is none.
func Free(ctx context.Context, t Table, key lock.Key, owner string) (freed bool, row *lock.Row, err error) {
	var result lock.RowResult
	lost := false
	err = repeat(ctx, func(ctx context.Context) outcome.Attempt {
		result = t.DeleteLock(ctx, key, owner)
		lost = lost || result.Outcome == outcome.Unknown
		return result.Attempt
	})
	// After an answer that was lost, a refusal means that the row has gone.
	return err == nil && (result.Outcome == outcome.Applied || lost), result.Old, err
}

// Holder returns the row of a lock, nil if there is none.
func Holder(ctx context.Context, t Table, key lock.Key) (*lock.Row, error) {
	// A delete for an owner that does not exist changes nothing, and shows the row.
	_, row, err := Free(ctx, t, key, rand.Text())
	return row, err
}

const (
	attemptsMax = 3
	attemptTime = 1500 * time.Millisecond
	pause       = 100 * time.Millisecond // between two attempts
)

var errNoAnswer = errors.New("the table did not answer")

// repeat makes attempts until one is applied or refused. All of them may be
// repeated, because the second one changes nothing.
func repeat(ctx context.Context, once func(context.Context) outcome.Attempt) error {
	var last outcome.Attempt
	for n := range attemptsMax {
		if n > 0 && clock.System().Sleep(ctx, pause) != nil {
			break
		}
		bounded, cancel := context.WithTimeout(ctx, attemptTime)
		last = once(bounded)
		cancel()
		if last.Outcome == outcome.Applied || last.Outcome == outcome.Refused {
			return nil
		}
	}
	return cmp.Or(last.Err, context.Cause(ctx), errNoAnswer)
}
