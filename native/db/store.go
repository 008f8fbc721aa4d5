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

// Row is what is stored under a key. Values are shared between engine, cache
// and caller, so nobody changes one after it was handed over.
type Row struct {
	// Value is a tree of the types that package native names, never nil.
	Value any
	// Rev is new with every write and never used again.
	Rev string
	// Expires is the moment from which on the row counts as absent, in
	// seconds since 1970; 0 means never.
	Expires int64
}

// Alive says whether there is a row and its time has not run out at now, in
// seconds since 1970. It may be called on nil.
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

// Condition is what has to hold for a write to be applied. The zero value
// always holds.
type Condition struct {
	// Rev, if not empty: there is a live row with this revision.
	Rev string
	// New: there is no live row.
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
	// Rev is the revision that Put and Add give the row. It stays the same
	// over all attempts of one write, which is how a write recognises itself.
	Rev string
	// Expires is stored by Put as it is. Add stores it only if the row has no
	// expiry of its own.
	Expires int64
	// Delta is what Add adds, within ±2^53.
	Delta int64
	// Low and High bound the number that Add finds, not the one it makes; an
	// absent row counts as 0.
	Low, High int64
}

// WholeMax is the largest number up to which every whole number is a float64.
const WholeMax = 1 << 53

// Whole returns v as a whole number if it is one within ±2^53.
func Whole(v any) (n int64, ok bool) {
	f, isNumber := v.(float64)
	if !isNumber || f != math.Trunc(f) || math.Abs(f) > WholeMax {
		return 0, false
	}
	return int64(f), true
}

// Apply is the meaning of a write: given the row that is there (nil if none)
// and the time in seconds since 1970, it returns the row that is there
// afterwards (nil if none). If ok is false, the write is refused and changes
// nothing.
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

// Store is an engine: a table of rows, whose every call is exactly one
// attempt, bounded by ctx and never repeated below this interface. Conditions
// are tested and changes made in one atomic step.
//
// An outcome of [outcome.NotApplied] or [outcome.Unknown] has a cause in Err.
// Where it is an [*outcome.Error], its Code tells the pace at which to try again
// ([CodeThrottled], [CodeContention], [CodeUnavailable]), and with Retryable
// false a request that was not applied isn't repeated (no such table, access
// denied). Reads have no side effect, so theirs is Applied or NotApplied.
//
// Engines don't hide rows that have expired: whoever asked compares Expires.
// The times given as now are seconds since 1970 on the caller's wall clock.
// Implementations are safe for use by many goroutines.
type Store interface {
	// Get reads one row. Row is nil if there is none.
	Get(ctx context.Context, key Key, stale bool) RowResult

	// GetMany reads up to 100 different keys. The answer may leave keys
	// unread: they are neither found nor missing, and asked for again.
	GetMany(ctx context.Context, keys []Key, stale bool) BatchResult

	// Query reads one page of a partition.
	Query(ctx context.Context, q Query) QueryResult

	// Write makes one change. Check is not allowed here. If it is refused, the
	// answer has the row in the way; an Add that was applied, the new row.
	// An Add may be refused by a row that has expired, because not every
	// engine can replace one by an addition: the caller then puts.
	Write(ctx context.Context, w Write, now int64) RowResult

	// Transact makes 1 to 100 changes of different rows, all or none. An
	// engine remembers token for ten minutes: a transaction that was applied
	// under it is not applied again, and answered as applied. All attempts
	// under one token have the same writes and the same now.
	Transact(ctx context.Context, token string, writes []Write, now int64) TransactResult
}

// RowResult is what came back from an attempt that concerns one row.
type RowResult struct {
	outcome.Attempt
	Row *Row
}

// BatchResult is what came back from [Store.GetMany].
type BatchResult struct {
	outcome.Attempt
	Rows   map[Key]Row
	Unread []Key
}

// Query asks for a page of the rows of a partition.
type Query struct {
	Partition string
	// Low and High are the least and the greatest key wanted, both inclusive.
	// Low is not empty and at most High.
	Low, High string
	// Reverse starts at High.
	Reverse bool
	// Limit is how many rows to look at, at least 1. A page may end sooner.
	Limit int
	// KeysOnly leaves the values out: they are nil.
	KeysOnly bool
	// Stale allows an answer that misses recent writes.
	Stale bool
	// Now allows the engine to leave out rows that have expired by then.
	Now int64
}

// QueryResult is what came back from [Store.Query].
type QueryResult struct {
	outcome.Attempt
	Items []Item
	// Last is the key of the last row looked at, or "" when there are no more
	// rows in the range.
	Last string
}

// Item is a row with its key.
type Item struct {
	Key string
	Row
}

// TransactResult is what came back from [Store.Transact].
type TransactResult struct {
	outcome.Attempt
	// Refusals are the entries whose conditions did not hold, in order. There
	// is at least one when Outcome is Refused.
	Refusals []Refusal
}

// Refusal is one entry of a transaction that stopped it.
type Refusal struct {
	Index int  // into the writes
	Row   *Row // the row in the way, nil if there is none
}
