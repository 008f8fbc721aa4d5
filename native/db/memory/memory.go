// Package memory is the engine of native.db for tests: a table in this
// process's memory. It never removes rows that have expired.
package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// pageBytesMax ends a page early, as services do.
const pageBytesMax = 1 << 20

// tokenSeconds is how long the token of a transaction is remembered.
const tokenSeconds = 600

// Store is a table in memory. It is safe for use by many goroutines.
type Store struct {
	clock *clock.Dual

	mu         sync.Mutex           // guards what follows
	partitions map[string][]db.Item // by partition key, each in the order of its keys
	tokens     map[string]int64     // transactions applied, and when
	locks      map[lock.Key]lock.Row
}

// New returns an empty table. hands time its answers.
func New(clk *clock.Dual) *Store {
	return &Store{
		clock:      clk,
		partitions: map[string][]db.Item{},
		tokens:     map[string]int64{},
		locks:      map[lock.Key]lock.Row{},
	}
}

// attempt runs one attempt under the lock. It is not applied if ctx is over.
func (s *Store) attempt(ctx context.Context, do func() outcome.Outcome) (a outcome.Attempt) {
	a.Sent = s.clock.Read()
	if err := ctx.Err(); err != nil {
		a.Outcome, a.Err = outcome.NotApplied, err
	} else {
		s.mu.Lock()
		a.Outcome = do()
		s.mu.Unlock()
	}
	a.Received = s.clock.Read()
	return a
}

// find returns where the row of key is in its partition, or would be.
func (s *Store) find(key db.Key) (at int, row *db.Row) {
	items := s.partitions[key.Partition]
	at, found := search(items, key.Key)
	if found {
		row = &items[at].Row
	}
	return at, row
}

func search(items []db.Item, key string) (at int, found bool) {
	return slices.BinarySearchFunc(items, key, func(item db.Item, key string) int {
		return cmp.Compare(item.Key, key)
	})
}

// set stores row under key, or removes what is there if row is nil.
func (s *Store) set(key db.Key, row *db.Row) {
	items := s.partitions[key.Partition]
	at, old := s.find(key)
	switch {
	case row == nil && old != nil:
		items = slices.Delete(items, at, at+1)
	case row != nil && old != nil:
		items[at].Row = *row
	case row != nil:
		items = slices.Insert(items, at, db.Item{Key: key.Key, Row: *row})
	}
	s.partitions[key.Partition] = items
}

// clone returns a copy of row, because the table's own is changed by writes.
func clone(row *db.Row) *db.Row {
	if row == nil {
		return nil
	}
	own := *row
	return &own
}

// Get implements [db.Store].
func (s *Store) Get(ctx context.Context, key db.Key, _ bool) (answer db.RowResult) {
	answer.Attempt = s.attempt(ctx, func() outcome.Outcome {
		_, row := s.find(key)
		answer.Row = clone(row)
		return outcome.Applied
	})
	return answer
}

// GetMany implements [db.Store].
func (s *Store) GetMany(ctx context.Context, keys []db.Key, _ bool) (found db.BatchResult) {
	found.Attempt = s.attempt(ctx, func() outcome.Outcome {
		found.Rows = map[db.Key]db.Row{}
		for _, key := range keys {
			if _, row := s.find(key); row != nil {
				found.Rows[key] = *row
			}
		}
		return outcome.Applied
	})
	return found
}

// Write implements [db.Store].
func (s *Store) Write(ctx context.Context, w db.Write, now int64) (answer db.RowResult) {
	answer.Attempt = s.attempt(ctx, func() outcome.Outcome {
		_, old := s.find(w.Key)
		next, ok := w.Apply(old, now)
		if !ok {
			answer.Row = clone(old)
			return outcome.Refused
		}
		s.set(w.Key, next)
		answer.Row = next
		return outcome.Applied
	})
	return answer
}

// Transact implements [db.Store].
func (s *Store) Transact(ctx context.Context, token string, writes []db.Write, now int64) (verdict db.TransactResult) {
	verdict.Attempt = s.attempt(ctx, func() outcome.Outcome {
		if at, done := s.tokens[token]; done && now-at < tokenSeconds {
			return outcome.Applied
		}
		after := make([]*db.Row, len(writes))
		for i, w := range writes {
			_, old := s.find(w.Key)
			next, ok := w.Apply(old, now)
			if !ok {
				verdict.Refusals = append(verdict.Refusals, db.Refusal{Index: i, Row: clone(old)})
			}
			after[i] = next
		}
		if len(verdict.Refusals) > 0 {
			return outcome.Refused
		}
		for i, w := range writes {
			if w.Kind != db.Check {
				s.set(w.Key, after[i])
			}
		}
		s.tokens[token] = now
		return outcome.Applied
	})
	return verdict
}

// Query implements [db.Store].
func (s *Store) Query(ctx context.Context, q db.Query) (listing db.QueryResult) {
	listing.Attempt = s.attempt(ctx, func() outcome.Outcome {
		s.read(q, &listing)
		return outcome.Applied
	})
	return listing
}

func (s *Store) read(q db.Query, listing *db.QueryResult) {
	items := s.partitions[q.Partition]
	low, _ := search(items, q.Low)
	high, found := search(items, q.High)
	if found {
		high++
	}
	items = items[low:max(low, high)]
	bytes := 0
	for n := range items {
		item := items[n]
		if q.Reverse {
			item = items[len(items)-1-n]
		}
		bytes += db.Size(item.Value)
		if q.KeysOnly {
			item.Value = nil
		}
		if item.Alive(q.Now) {
			listing.Items = append(listing.Items, item)
		}
		if n+1 < len(items) && (n+1 == q.Limit || bytes >= pageBytesMax) {
			listing.Last = item.Key
			return
		}
	}
}
