package dbtest

import (
	"context"
	"errors"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Fault is what goes wrong with one attempt on a [Faulty] store.
type Fault int

// The faults. With None the store is called as it is.
const (
	None            Fault = iota
	ResponseLost          // the store makes the attempt, and its response is lost
	RequestLost           // the store does not get the request, which nothing shows
	Throttled             // the store rejects the request because of its load
	Conflict              // the store rejects it because of another transaction
	Unreachable           // the request can't be sent
	Denied                // the store rejects it for good
	SuccessCut            // the store makes the attempt, and its answer breaks off
	RejectionCut          // the store rejects it, and its answer breaks off
	FailureCut            // the store fails, and its answer breaks off
	Foreign               // something else answers, and the store gets no request
	HalfUnprocessed       // GetMany leaves the second half of the keys unread
	AllUnprocessed        // GetMany leaves all keys unread
	AddMeetsExpired       // an Add is refused if the row has expired
)

// Faulty is a store that injects faults into another one.
type Faulty struct {
	db.Store
	// Faults are injected into one attempt each; further attempts have none.
	Faults []Fault
	// Before is called before each attempt with its number from 1; nil disables it.
	Before func(attempt int)
	// Attempts is how many attempts were made.
	Attempts int
	// Tokens are the tokens of the transactions seen, and Times their times.
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

// inject returns the attempt as the fault leaves it. carryOut reports whether the
// store is called, isWrite whether the attempt may change something.
func (fault Fault) inject(isWrite bool) (a outcome.Attempt, carryOut bool) {
	a.Outcome = outcome.NotApplied
	switch fault {
	case ResponseLost, RequestLost:
		a.Err = errors.New("connection reset")
		if isWrite {
			a.Outcome = outcome.Unknown
		}
		return a, fault == ResponseLost
	case SuccessCut, FailureCut, Foreign:
		a.Err = &outcome.Error{Code: db.CodeUnavailable, Message: "an answer that is not believed", Retryable: true}
		if isWrite {
			a.Outcome = outcome.Unknown
		}
		return a, fault == SuccessCut
	case RejectionCut:
		a.Err = &outcome.Error{Code: db.CodeUnavailable, Message: "turned down, and the reason broke off", Retryable: true}
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

// attempt makes an attempt with the next fault. do calls the store, failed makes
// the result of an attempt that has none.
func attempt[R any](f *Faulty, isWrite bool, do func(Fault) R, failed func(outcome.Attempt) R) R {
	fault := f.next()
	a, carryOut := fault.inject(isWrite)
	if !carryOut {
		return failed(a)
	}
	result := do(fault)
	if a.Err != nil {
		return failed(a)
	}
	return result
}

func rowResult(a outcome.Attempt) db.RowResult { return db.RowResult{Attempt: a} }

// Get implements [db.Store].
func (f *Faulty) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	return attempt(f, false, func(Fault) db.RowResult { return f.Store.Get(ctx, key, stale) }, rowResult)
}

// GetMany implements [db.Store].
func (f *Faulty) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	do := func(fault Fault) db.BatchResult {
		n := len(keys)
		switch fault {
		case HalfUnprocessed:
			n = (n + 1) / 2
		case AllUnprocessed:
			n = 0
		}
		batch := f.Store.GetMany(ctx, keys[:n], stale)
		batch.Unread = append(batch.Unread, keys[n:]...)
		return batch
	}
	return attempt(f, false, do, func(a outcome.Attempt) db.BatchResult { return db.BatchResult{Attempt: a} })
}

// Query implements [db.Store].
func (f *Faulty) Query(ctx context.Context, q db.Query) db.QueryResult {
	return attempt(f, false, func(Fault) db.QueryResult { return f.Store.Query(ctx, q) },
		func(a outcome.Attempt) db.QueryResult { return db.QueryResult{Attempt: a} })
}

// Write implements [db.Store].
func (f *Faulty) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	do := func(fault Fault) db.RowResult {
		if fault == AddMeetsExpired && w.Kind == db.Add {
			if old := f.Store.Get(ctx, w.Key, false); old.Row != nil && !old.Row.Alive(now) {
				old.Outcome = outcome.Refused
				return old
			}
		}
		return f.Store.Write(ctx, w, now)
	}
	return attempt(f, true, do, rowResult)
}

// Transact implements [db.Store].
func (f *Faulty) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	f.Tokens, f.Times = append(f.Tokens, token), append(f.Times, now)
	do := func(fault Fault) db.TransactResult {
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
	return attempt(f, true, do, func(a outcome.Attempt) db.TransactResult { return db.TransactResult{Attempt: a} })
}
