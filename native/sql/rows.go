package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// batchMax is how many rows are fetched at once at most. The first batch
	// has one row, each further one twice as many.
	batchMax = 128
	// batchBytes ends a batch.
	batchBytes = 64 << 10
	// rowBytes is what a row costs besides its strings, and fieldBytes each of
	// its fields, about.
	rowBytes, fieldBytes = 100, 100
)

// Rowset are the rows of a statement, fetched as they are asked for. It has a
// session until it has been read to its end or is closed.
type Rowset struct {
	op      string
	writes  bool
	session *session
	rows    Rows
	release func(*session) // gives the session back
	columns []string
	used    time.Duration // when it was last asked, on the fast hand

	mu      sync.Mutex // held while a call is under way
	batch   []Value    // rows that have been fetched, one after the other
	fetched int        // how many they are
	given   int        // how many of them have been returned
	size    int        // of the next batch, in rows
	bytes   int64
	err     error // what comes after batch
	done    bool  // the statement has ended
	closed  bool

	over atomic.Bool // Close was called
}

// newRowset makes the rows of a statement over a session of their own; reading
// says that a transaction is open on it that only reads.
func newRowset(s *session, rows Rows, op string, writes, reading bool) *Rowset {
	return &Rowset{
		op: op, writes: writes, session: s, rows: rows, columns: rows.Columns(), size: 1, used: s.pool.db.options.Clock.ElapsedMax(),
		release: func(s *session) {
			if !reading || s.busy || s.unusable {
				s.pool.put(s)
				return
			}
			s.pool.db.background(func(ctx context.Context) {
				s.rollback(ctx)
				s.pool.put(s)
			})
		},
	}
}

// Columns are the names of the columns.
func (r *Rowset) Columns() []string { return r.columns }

// Size is about how many bytes a row takes, strings included.
func Size(row []Value) int {
	n := rowBytes + len(row)*fieldBytes
	for i := range row {
		n += len(row[i].text)
	}
	return n
}

// Next returns the next row, or io.EOF after the last one. A row is good until
// the next one is asked for.
func (r *Rowset) Next(ctx context.Context) ([]Value, error) {
	r.mu.Lock()
	defer r.unlock()
	if r.given == r.fetched && r.err == nil {
		r.fetch(ctx)
	}
	if row, ok := r.give(); ok {
		return row, nil
	}
	return nil, r.err
}

// Fetched is Next for a row that is there already; ok is false if none is.
func (r *Rowset) Fetched() (row []Value, ok bool) {
	r.mu.Lock()
	defer r.unlock()
	return r.give()
}

// unlock ends a call. If Close was called meanwhile it comes now.
func (r *Rowset) unlock() {
	r.mu.Unlock()
	if r.over.Load() {
		r.Close()
	}
}

// give returns the next row of the batch, if there is one.
func (r *Rowset) give() (row []Value, ok bool) {
	if r.given == r.fetched {
		return nil, false
	}
	n := len(r.columns)
	row = r.batch[r.given*n : (r.given+1)*n]
	r.given++
	return row, true
}

// fetch fetches the next batch, and gives the session back after the last one.
func (r *Rowset) fetch(ctx context.Context) {
	if r.over.Load() {
		r.err = r.ended()
	}
	if r.err != nil {
		return
	}
	s := r.session
	r.used = s.pool.db.options.Clock.ElapsedMax()
	if r.err = r.duplicate(); r.err == nil {
		c, err := s.do(ctx, r.fill)
		switch {
		case err == nil && r.op == opQuery && r.bytes > s.pool.db.options.ResultBytesMax:
			s.link.over.Store(true)
			r.err = s.trouble(r.op, errTooLarge, c, r.writes)
		case err == nil && r.done:
			r.err, s.busy = io.EOF, false
		case err == nil:
		default: // rows may be left: the session stays busy
			r.err = s.trouble(r.op, err, c, r.writes)
		}
	}
	if r.err != nil {
		r.finish()
	}
}

// fill reads a batch of rows into the place of the last one.
func (r *Rowset) fill() error {
	clear(r.batch)
	r.batch, r.fetched, r.given = r.batch[:0], 0, 0
	n, bytes := len(r.columns), 0
	for r.fetched < r.size && bytes < batchBytes {
		r.session.link.allow()
		r.batch = slices.Grow(r.batch, n)[:len(r.batch)+n]
		row := r.batch[r.fetched*n:]
		err := r.rows.Next(row)
		if errors.Is(err, io.EOF) {
			r.done = true
			break
		}
		if err != nil {
			return err
		}
		r.fetched++
		bytes += Size(row)
	}
	r.bytes += int64(bytes)
	r.size = min(2*r.size, batchMax)
	return nil
}

// duplicate refuses rows in which one value would hide another.
func (r *Rowset) duplicate() error {
	if r.size > 1 {
		return nil // it has been looked at
	}
	seen := make(map[string]bool, len(r.columns))
	for _, name := range r.columns {
		if seen[name] {
			return &outcome.Error{
				Code: CodeFailed, Op: r.op, Key: r.session.pool.name, Applied: applied(r.writes, true),
				Message: fmt.Sprintf("two columns are named %.64q: name them apart with AS", name),
			}
		}
		seen[name] = true
	}
	return nil
}

// finish gives the session back, once.
func (r *Rowset) finish() {
	if !r.closed {
		r.closed = true
		r.release(r.session)
	}
}

// ended is the error of rows that have been closed.
func (r *Rowset) ended() error {
	return &outcome.Error{
		Code: CodeClosed, Op: r.op, Key: r.session.pool.name,
		Message: "the rows have been closed: their connection was needed, or their transaction is over",
	}
}

// Close gives the session back without reading on. It may be called at any
// time, also while Next is under way, and doesn't wait.
func (r *Rowset) Close() {
	r.over.Store(true)
	if !r.mu.TryLock() {
		// Next gives it back, and finds the connection cut.
		r.session.link.cut()
		r.session.raw.Break()
		return
	}
	defer r.mu.Unlock()
	r.batch, r.fetched, r.given = nil, 0, 0
	if r.err == nil {
		r.err = r.ended()
	}
	r.finish()
}

// drain reads to the end and drops all.
func (r *Rowset) drain(ctx context.Context) error {
	for {
		_, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			r.err = r.ended()
			return nil
		}
		if err != nil {
			return err
		}
	}
}
