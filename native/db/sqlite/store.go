package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// pageBytesMax and batchBytesMax end a page and a batch early, at the same size
	// as DynamoDB, so that no result takes more memory than that.
	pageBytesMax  = 1 << 20
	batchBytesMax = 16 << 20
	// Writes remove rows that have expired: at most sweepRows of them, and at most
	// every sweepEvery.
	sweepRows  = 200
	sweepEvery = time.Second
	// The tokens of transactions are rows of this partition until they expire. The
	// partition of a tenant has a slash in its name, so it can't be this one.
	tokenPartition = "!tokens"
	tokenSeconds   = 600
)

// write makes one attempt to change the file. do returns the outcome; nothing is
// changed unless that is [outcome.Applied].
//
// ctx bounds only the wait for other writers. Once the transaction has begun, it
// runs to its end, which is near. So its outcome is always known, unless the disk
// fails.
func (s *Store) write(ctx context.Context, do func(*change) (outcome.Outcome, error)) (a outcome.Attempt) {
	a.Sent = s.clock.Read()
	defer func() { a.Received = s.clock.Read() }()
	a.Outcome = outcome.NotApplied
	conn, tx, err := s.begin(ctx)
	if err != nil {
		a.Err = classify(err)
		return a
	}
	defer conn.Close()
	defer tx.Rollback() // does nothing after a commit
	if clock.Ended(ctx) {
		// The process was suspended meanwhile. From here on no other process can
		// write, so a lock that the caller holds can't be acquired by another before
		// this commit.
		a.Err = classify(context.DeadlineExceeded)
		return a
	}
	c := &change{tx: tx, stmts: &s.stmts}
	decided, err := do(c)
	if err == nil && decided == outcome.Applied {
		err = s.sweep(c)
	}
	if err != nil {
		a.Err = classify(err)
		return a
	}
	if decided == outcome.Applied {
		if err := tx.Commit(); err != nil {
			a.Outcome, a.Err = outcome.Unknown, classify(err)
			return a
		}
	}
	a.Outcome = decided
	return a
}

// begin waits for the connection and for other processes.
func (s *Store) begin(ctx context.Context) (conn *sql.Conn, tx *sql.Tx, err error) {
	err = s.wait(ctx, func() error {
		if conn, err = s.writer.Conn(ctx); err != nil {
			return err
		}
		if tx, err = conn.BeginTx(context.WithoutCancel(ctx), nil); err != nil {
			conn.Close()
		}
		return err
	})
	return conn, tx, err
}

// sweeper remembers when this process has to sweep the file again.
type sweeper struct {
	mu   sync.Mutex // guards next
	next time.Duration
}

// due reports whether it is time to sweep again.
func (s *sweeper) due(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.next {
		return false
	}
	s.next = now + sweepEvery
	return true
}

// sweep removes rows that have expired, so that the file doesn't grow without
// bound.
func (s *Store) sweep(c *change) error {
	now := s.clock.Read()
	if !s.sweeper.due(now.ElapsedMax) {
		return nil
	}
	_, err := c.tx.Stmt(c.stmts.sweep).Exec(now.Wall.Unix(), sweepRows)
	return err
}

// read makes one attempt to read.
func (s *Store) read(ctx context.Context, do func() error) (a outcome.Attempt) {
	a.Sent = s.clock.Read()
	a.Outcome = outcome.Applied
	if err := s.wait(ctx, func() error { return errors.Join(ctx.Err(), do()) }); err != nil {
		a.Outcome, a.Err = outcome.NotApplied, classify(err)
	}
	a.Received = s.clock.Read()
	return a
}

// classify returns err with the code that decides whether the layer above tries
// again.
func classify(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), isBusy(err):
		return &outcome.Error{Code: db.CodeContention, Message: "other writers kept the database file busy", Retryable: true, Cause: err}
	default:
		return &outcome.Error{Code: db.CodeUnavailable, Message: "the database file can't be used", Cause: err}
	}
}

// Get implements [db.Store].
func (s *Store) Get(ctx context.Context, key db.Key, _ bool) (result db.RowResult) {
	result.Attempt = s.read(ctx, func() (err error) {
		result.Row, _, err = getRow(s.stmts.read, key)
		return err
	})
	return result
}

// GetMany implements [db.Store].
func (s *Store) GetMany(ctx context.Context, keys []db.Key, _ bool) (result db.BatchResult) {
	result.Attempt = s.read(ctx, func() error {
		result.Rows, result.Unread = map[db.Key]db.Row{}, nil
		total := 0
		for i, key := range keys {
			row, bytes, err := getRow(s.stmts.read, key)
			if err != nil {
				return err
			}
			if row != nil {
				result.Rows[key] = *row
			}
			if total += bytes; total >= batchBytesMax {
				result.Unread = keys[i+1:]
				return nil
			}
		}
		return nil
	})
	return result
}

// Write implements [db.Store].
func (s *Store) Write(ctx context.Context, w db.Write, now int64) (result db.RowResult) {
	result.Attempt = s.write(ctx, func(c *change) (outcome.Outcome, error) {
		old, err := c.get(w.Key)
		if err != nil {
			return outcome.NotApplied, err
		}
		next, ok := w.Apply(old, now)
		if !ok {
			result.Row = old
			return outcome.Refused, nil
		}
		result.Row = next
		return outcome.Applied, c.set(w.Key, next)
	})
	return result
}

// Transact implements [db.Store].
func (s *Store) Transact(ctx context.Context, token string, writes []db.Write, now int64) (result db.TransactResult) {
	result.Attempt = s.write(ctx, func(c *change) (outcome.Outcome, error) {
		mark := db.Key{Partition: tokenPartition, Key: token}
		before, err := c.get(mark)
		if err != nil || before.Alive(now) {
			return outcome.Applied, err
		}
		for i, w := range writes {
			old, err := c.get(w.Key)
			if err != nil {
				return outcome.NotApplied, err
			}
			next, ok := w.Apply(old, now)
			if !ok {
				result.Refusals = append(result.Refusals, db.Refusal{Index: i, Row: old})
			} else if w.Kind != db.Check {
				if err := c.set(w.Key, next); err != nil {
					return outcome.NotApplied, err
				}
			}
		}
		if len(result.Refusals) > 0 {
			return outcome.Refused, nil
		}
		return outcome.Applied, c.set(mark, &db.Row{Expires: now + tokenSeconds})
	})
	return result
}

// Query implements [db.Store].
func (s *Store) Query(ctx context.Context, q db.Query) (result db.QueryResult) {
	result.Attempt = s.read(ctx, func() (err error) {
		result.Items, result.Last, err = s.page(q)
		return err
	})
	return result
}

// page reads the rows of a query, and one more to know whether another page follows.
func (s *Store) page(q db.Query) (items []db.Item, last string, err error) {
	rows, err := s.stmts.list[order{q.Reverse, q.KeysOnly}].Query(q.Partition, q.Low, q.High, q.Limit+1)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	bytes := 0
	key := ""
	for n := 0; rows.Next(); n++ {
		if n == q.Limit || bytes >= pageBytesMax {
			return items, key, rows.Close()
		}
		var value sql.RawBytes
		var item db.Item
		var expires sql.NullInt64
		if err := rows.Scan(&item.Key, &value, &item.Rev, &expires); err != nil {
			return nil, "", err
		}
		key = item.Key
		bytes += len(value)
		item.Expires = expires.Int64
		if !item.Alive(q.Now) {
			continue
		}
		if item.Value, err = decodeColumn(value); err != nil {
			return nil, "", err
		}
		items = append(items, item)
	}
	return items, "", errors.Join(rows.Err(), rows.Close())
}
