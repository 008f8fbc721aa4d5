package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native"
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

	mu     sync.Mutex // held while a call is under way
	batch  [][]any
	size   int // of the next batch
	bytes  int64
	err    error // what comes after batch
	done   bool  // the statement has ended
	closed bool

	closing sync.Mutex // guards over
	over    bool       // Close was called
}

// newRowset makes the rows of a statement over a session of their own; reading
// says that a transaction is open on it that only reads.
func newRowset(s *session, rows Rows, op string, writes, reading bool) *Rowset {
	return &Rowset{
		op: op, writes: writes, session: s, rows: rows, columns: rows.Columns(), size: 1, used: s.pool.db.options.Hands.Fast(),
		release: func(s *session) {
			if !reading || s.busy || s.spoiled {
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
func Size(row []any) int {
	n := rowBytes
	for _, v := range row {
		n += fieldBytes
		if s, ok := v.(string); ok {
			n += len(s)
		}
	}
	return n
}

// Next returns the next row, or io.EOF after the last one.
func (r *Rowset) Next(ctx context.Context) ([]any, error) {
	r.mu.Lock()
	defer func() {
		r.mu.Unlock()
		if r.isOver() {
			r.Close() // it came while we had the lock
		}
	}()
	if len(r.batch) == 0 && r.err == nil {
		r.fetch(ctx)
	}
	if len(r.batch) > 0 {
		row := r.batch[0]
		r.batch = r.batch[1:]
		return row, nil
	}
	return nil, r.err
}

// fetch fetches the next batch, and gives the session back after the last one.
func (r *Rowset) fetch(ctx context.Context) {
	if r.isOver() {
		r.err = r.ended()
	}
	if r.err != nil {
		return
	}
	s := r.session
	r.used = s.pool.db.options.Hands.Fast()
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

// fill reads a batch of rows.
func (r *Rowset) fill() error {
	bytes := 0
	for len(r.batch) < r.size && bytes < batchBytes {
		r.session.link.allow()
		row, err := r.rows.Next()
		if errors.Is(err, io.EOF) {
			r.done = true
			break
		}
		if err != nil {
			return err
		}
		bytes += Size(row)
		r.batch = append(r.batch, row)
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
			return &native.Error{
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
	return &native.Error{
		Code: CodeClosed, Op: r.op, Key: r.session.pool.name,
		Message: "the rows have been closed: their connection was needed, or their transaction is over",
	}
}

func (r *Rowset) isOver() bool {
	r.closing.Lock()
	defer r.closing.Unlock()
	return r.over
}

// Close gives the session back without reading on. It may be called at any
// time, also while Next is under way, and doesn't wait.
func (r *Rowset) Close() {
	r.closing.Lock()
	r.over = true
	r.closing.Unlock()
	if !r.mu.TryLock() {
		// Next gives it back, and finds the connection cut.
		r.session.link.cut()
		r.session.raw.Break()
		return
	}
	defer r.mu.Unlock()
	r.batch = nil
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
