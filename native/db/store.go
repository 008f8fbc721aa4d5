package db

import (
	"context"
	"math"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Key addresses one row.
type Key struct {
	// Partition is the partition key as stored, tenant included.
	Partition string
	// Key is the sort key, 1 to 512 bytes of UTF-8. Rows of a partition are
	// ordered by the bytes of their keys.
	Key string
}

// Row is what is stored under a key. A value may be shared between engine and
// caller, so it is never changed once it was passed on.
type Row struct {
	// Value is a tree of the types of package value, never nil.
	Value any
	// Rev is new with every write and never used again.
	Rev string
	// Expires is the time from which the row counts as absent, in seconds since
	// 1970; 0 means never.
	Expires int64
}

// Alive reports whether there is a row that has not expired at now, in seconds
// since 1970. It may be called on nil.
func (r *Row) Alive(now int64) bool {
	return r != nil && (r.Expires == 0 || r.Expires > now)
}

// OpKind is the kind of a write.
type OpKind int

// The kinds of a [Write].
const (
	Put    OpKind = iota // store Value
	Delete               // remove the row
	Add                  // add Delta to a whole number
	Check                // change nothing; only as part of a transaction
)

// Condition is what must hold for a write to be applied. The zero value always
// holds.
type Condition struct {
	// Rev, if not empty, requires a live row with this revision.
	Rev string
	// New requires that there is no live row.
	New bool
}

// Write is one change of one row.
type Write struct {
	Kind OpKind
	Key  Key
	// If is the condition of a Put, Delete or Check. Add has its own in Low
	// and High.
	If Condition
	// Value is what Put stores.
	Value any
	// Rev is the new revision of the row, for Put and Add. All attempts of one
	// write have the same, so a write recognises what an earlier attempt stored.
	Rev string
	// Expires is the row's expiry. Add sets it only if the row has none.
	Expires int64
	// Delta is what Add adds, within ±2^53.
	Delta int64
	// Low and High bound the number before the addition, not the sum. An absent
	// row counts as 0.
	Low, High int64
}

// WholeMax bounds counters: up to it, every whole number is a float64.
const WholeMax = 1 << 53

// Whole returns v as a whole number. ok is false if v is none within ±2^53.
func Whole(v any) (n int64, ok bool) {
	f, isNumber := v.(float64)
	if !isNumber || f != math.Trunc(f) || math.Abs(f) > WholeMax {
		return 0, false
	}
	return int64(f), true
}

// Apply defines what a write means. Given the stored row, nil if there is none,
// and the time in seconds since 1970, it returns the row that is stored
// afterwards, nil if there is none. If ok is false, the write is refused and
// changes nothing.
func (w Write) Apply(old *Row, now int64) (next *Row, ok bool) {
	if !old.Alive(now) {
		old = nil
	}
	if w.If.New && old != nil || w.If.Rev != "" && (old == nil || old.Rev != w.If.Rev) {
		return nil, false
	}
	switch w.Kind {
	case Put:
		return &Row{Value: w.Value, Rev: w.Rev, Expires: w.Expires}, true
	case Delete:
		return nil, true
	case Add:
		return w.add(old)
	default:
		return old, true
	}
}

func (w Write) add(old *Row) (next *Row, ok bool) {
	var n int64
	next = &Row{Rev: w.Rev, Expires: w.Expires}
	if old != nil {
		if n, ok = Whole(old.Value); !ok {
			return nil, false
		}
		if old.Expires != 0 {
			next.Expires = old.Expires
		}
	}
	if n < w.Low || n > w.High {
		return nil, false
	}
	next.Value = float64(n + w.Delta)
	return next, true
}

// Store is an engine: a table of rows. Each call is exactly one attempt, bounded
// by ctx and never repeated below this interface. Testing a condition and making
// the change is one atomic step.
//
// If the outcome is [outcome.NotApplied] or [outcome.Unknown], Err is the cause.
// If that is an [*outcome.Error], its Code ([CodeThrottled], [CodeContention] or
// [CodeUnavailable]) decides how long to wait before the next attempt, and a
// request that was not applied is repeated only if Retryable is set: a missing
// table or denied access is permanent. Reads have no side effect, so they are
// Applied or NotApplied, never Unknown.
//
// An engine may return rows that have expired: the caller compares Expires. The
// parameters called now are seconds since 1970 on the caller's wall clock.
// Implementations are safe for concurrent use.
type Store interface {
	// Get reads one row. Row is nil if there is none.
	Get(ctx context.Context, key Key, stale bool) RowResult

	// GetMany reads up to 100 different keys. It may leave some of them unread:
	// whether those have a row is not known, and the caller reads them again.
	GetMany(ctx context.Context, keys []Key, stale bool) BatchResult

	// Query reads one page of a partition.
	Query(ctx context.Context, q Query) QueryResult

	// Write makes one change, which can't be a Check. The result has the
	// conflicting row of a write that was refused, and the new row of an Add that
	// was applied. A row that has expired may refuse an Add, because not every
	// engine can replace a row by an addition: the caller puts one instead.
	Write(ctx context.Context, w Write, now int64) RowResult

	// Transact makes 1 to 100 changes of different rows, all or none. The engine
	// remembers the token of an applied transaction for ten minutes: in that time
	// the transaction is not applied again, and the outcome is Applied. All
	// attempts with one token have the same writes and the same now.
	Transact(ctx context.Context, token string, writes []Write, now int64) TransactResult
}

// RowResult is the result of an attempt that concerns one row.
type RowResult struct {
	outcome.Attempt
	Row *Row
}

// BatchResult is the result of [Store.GetMany]. Keys that are neither in Rows nor
// in Unread have no row.
type BatchResult struct {
	outcome.Attempt
	Rows   map[Key]Row
	Unread []Key
}

// Query describes a page of the rows of a partition.
type Query struct {
	Partition string
	// Low and High are the least and the greatest key wanted, both inclusive.
	// Low is not empty and at most High.
	Low, High string
	// Reverse starts at High.
	Reverse bool
	// Limit is how many rows to read, at least 1. A page may end sooner.
	Limit int
	// KeysOnly leaves the values out: they are nil.
	KeysOnly bool
	// Stale allows the page to miss recent writes.
	Stale bool
	// Now allows the engine to leave out rows that have expired at this time.
	Now int64
}

// QueryResult is the result of [Store.Query].
type QueryResult struct {
	outcome.Attempt
	Items []Item
	// Last is the key of the last row read, or "" if the range has no more rows.
	Last string
}

// Item is a row with its key.
type Item struct {
	Key string
	Row
}

// TransactResult is the result of [Store.Transact].
type TransactResult struct {
	outcome.Attempt
	// Refusals are the writes whose conditions did not hold, in order. There is
	// at least one if Outcome is Refused.
	Refusals []Refusal
}

// Refusal is one of the writes that stopped a transaction.
type Refusal struct {
	Index int  // into the writes
	Row   *Row // the conflicting row, nil if there is none
}
