// Package memory is the engine of native.db for tests: a table in the memory of
// the process. It never removes rows that have expired.
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

// pageBytesMax ends a page early, as DynamoDB does.
const pageBytesMax = 1 << 20

// tokenSeconds is how long the token of a transaction is remembered.
const tokenSeconds = 600

// Store is a table in memory. It is safe for concurrent use.
type Store struct {
	clock *clock.Dual

	mu         sync.Mutex           // guards what follows
	partitions map[string][]db.Item // by partition key, sorted by key
	tokens     map[string]int64     // when a transaction was applied, by token
	locks      map[lock.Key]lock.Row
}

// New returns an empty table. clk timestamps the attempts.
func New(clk *clock.Dual) *Store {
	return &Store{
		clock:      clk,
		partitions: map[string][]db.Item{},
		tokens:     map[string]int64{},
		locks:      map[lock.Key]lock.Row{},
	}
}

// attempt makes one attempt under the mutex. It is not applied if ctx has ended.
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

// find returns the place of key in its partition, and its row, nil if there is
// none.
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

// clone returns a copy of row: writes change the stored one.
func clone(row *db.Row) *db.Row {
	if row == nil {
		return nil
	}
	own := *row
	return &own
}

// Get implements [db.Store].
func (s *Store) Get(ctx context.Context, key db.Key, _ bool) (result db.RowResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		_, row := s.find(key)
		result.Row = clone(row)
		return outcome.Applied
	})
	return result
}

// GetMany implements [db.Store].
func (s *Store) GetMany(ctx context.Context, keys []db.Key, _ bool) (result db.BatchResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		result.Rows = map[db.Key]db.Row{}
		for _, key := range keys {
			if _, row := s.find(key); row != nil {
				result.Rows[key] = *row
			}
		}
		return outcome.Applied
	})
	return result
}

// Write implements [db.Store].
func (s *Store) Write(ctx context.Context, w db.Write, now int64) (result db.RowResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		_, old := s.find(w.Key)
		next, ok := w.Apply(old, now)
		if !ok {
			result.Row = clone(old)
			return outcome.Refused
		}
		s.set(w.Key, next)
		result.Row = next
		return outcome.Applied
	})
	return result
}

// Transact implements [db.Store].
func (s *Store) Transact(ctx context.Context, token string, writes []db.Write, now int64) (result db.TransactResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		if at, done := s.tokens[token]; done && now-at < tokenSeconds {
			return outcome.Applied
		}
		after := make([]*db.Row, len(writes))
		for i, w := range writes {
			_, old := s.find(w.Key)
			next, ok := w.Apply(old, now)
			if !ok {
				result.Refusals = append(result.Refusals, db.Refusal{Index: i, Row: clone(old)})
			}
			after[i] = next
		}
		if len(result.Refusals) > 0 {
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
	return result
}

// Query implements [db.Store].
func (s *Store) Query(ctx context.Context, q db.Query) (result db.QueryResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		s.read(q, &result)
		return outcome.Applied
	})
	return result
}

func (s *Store) read(q db.Query, result *db.QueryResult) {
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
			result.Items = append(result.Items, item)
		}
		if n+1 < len(items) && (n+1 == q.Limit || bytes >= pageBytesMax) {
			result.Last = item.Key
			return
		}
	}
}
