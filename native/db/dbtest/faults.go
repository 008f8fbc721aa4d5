package dbtest

import (
	"context"
	"errors"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Fault is what happens to one attempt on a [Faulty] store.
type Fault int

// The kinds of faults. A store's answer is what it is for the kind None.
const (
	None         Fault = iota
	ResponseLost               // carried out, but the answer is lost
	RequestLost            // not carried out, and nobody can know
	Throttled          // turned down for the load
	Conflict           // turned down because it met a transaction
	Unreachable               // could not be sent
	Denied             // turned down for good
	HalfUnprocessed        // a batch: the second half of the keys is left unread
	AllUnprocessed        // a batch: no key is read
	AddMeetsExpired       // an Add is refused if a row is there that has expired
)

// Faulty is a store some of whose attempts go wrong.
type Faulty struct {
	db.Store
	// Faults are used up, one for each attempt; then all goes well.
	Faults []Fault
	// Before, if set, is called before an attempt is carried out, with its
	// number from 1.
	Before func(attempt int)
	// Attempts counts them.
	Attempts int
	// Tokens are those of the transactions seen, and Times what they were told
	// as now.
	Tokens []string
	Times  []int64
}

func (f *Faulty) next() Fault {
	f.Attempts++
	if f.Before != nil {
		f.Before(f.Attempts)
	}
	if len(f.Faults) == 0 {
		return None
	}
	fault := f.Faults[0]
	f.Faults = f.Faults[1:]
	return fault
}

// inject returns the attempt with the fault in it. carryOut says whether the
// store is to be asked, isWrite whether the attempt may change something.
func (fault Fault) inject(isWrite bool) (a outcome.Attempt, carryOut bool) {
	a.Outcome = outcome.NotApplied
	switch fault {
	case ResponseLost, RequestLost:
		a.Err = errors.New("connection reset")
		if isWrite {
			a.Outcome = outcome.Unknown
		}
		return a, fault == ResponseLost
	case Throttled:
		a.Err = &outcome.Error{Code: db.CodeThrottled, Message: "slow down", Retryable: true}
	case Conflict:
		a.Err = &outcome.Error{Code: db.CodeContention, Message: "a transaction is under way", Retryable: true}
	case Unreachable:
		a.Err = errors.New("connection refused")
	case Denied:
		a.Err = &outcome.Error{Code: db.CodeUnavailable, Message: "access denied"}
	default:
		return outcome.Attempt{}, true
	}
	return a, false
}

// attempt carries out an attempt with the next fault. ask asks the store,
// spoiled says that its answer doesn't come back.
func attempt[A any](f *Faulty, isWrite bool, ask func(Fault) A, spoiled func(outcome.Attempt) A) A {
	fault := f.next()
	a, carryOut := fault.inject(isWrite)
	if !carryOut {
		return spoiled(a)
	}
	answer := ask(fault)
	if a.Err != nil {
		return spoiled(a)
	}
	return answer
}

func rowResult(a outcome.Attempt) db.RowResult { return db.RowResult{Attempt: a} }

// Get implements [db.Store].
func (f *Faulty) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	return attempt(f, false, func(Fault) db.RowResult { return f.Store.Get(ctx, key, stale) }, rowResult)
}

// GetMany implements [db.Store].
func (f *Faulty) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	ask := func(fault Fault) db.BatchResult {
		n := len(keys)
		switch fault {
		case HalfUnprocessed:
			n = (n + 1) / 2
		case AllUnprocessed:
			n = 0
		}
		found := f.Store.GetMany(ctx, keys[:n], stale)
		found.Unread = append(found.Unread, keys[n:]...)
		return found
	}
	return attempt(f, false, ask, func(a outcome.Attempt) db.BatchResult { return db.BatchResult{Attempt: a} })
}

// Query implements [db.Store].
func (f *Faulty) Query(ctx context.Context, q db.Query) db.QueryResult {
	return attempt(f, false, func(Fault) db.QueryResult { return f.Store.Query(ctx, q) },
		func(a outcome.Attempt) db.QueryResult { return db.QueryResult{Attempt: a} })
}

// Write implements [db.Store].
func (f *Faulty) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	ask := func(fault Fault) db.RowResult {
		if fault == AddMeetsExpired && w.Kind == db.Add {
			if old := f.Store.Get(ctx, w.Key, false); old.Row != nil && !old.Row.Alive(now) {
				old.Outcome = outcome.Refused
				return old
			}
		}
		return f.Store.Write(ctx, w, now)
	}
	return attempt(f, true, ask, rowResult)
}

// Transact implements [db.Store].
func (f *Faulty) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	f.Tokens, f.Times = append(f.Tokens, token), append(f.Times, now)
	ask := func(fault Fault) db.TransactResult {
		var refusals []db.Refusal
		for i, w := range writes {
			if fault != AddMeetsExpired || w.Kind != db.Add {
				continue
			}
			if old := f.Store.Get(ctx, w.Key, false); old.Row != nil && !old.Row.Alive(now) {
				refusals = append(refusals, db.Refusal{Index: i, Row: old.Row})
			}
		}
		if refusals != nil {
			return db.TransactResult{Attempt: outcome.Attempt{Outcome: outcome.Refused}, Refusals: refusals}
		}
		return f.Store.Transact(ctx, token, writes, now)
	}
	return attempt(f, true, ask, func(a outcome.Attempt) db.TransactResult { return db.TransactResult{Attempt: a} })
}
