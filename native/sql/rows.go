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

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// batchMax is the most rows that are fetched at once. The first batch has one
	// row, each further one twice as many.
	batchMax = 128
	// batchBytes ends a batch before that.
	batchBytes = 64 << 10
	// rowBytes is about what a row takes besides its strings, and fieldBytes each
	// of its fields.
	rowBytes, fieldBytes = 100, 100
)

// Rowset is the rows of a statement, fetched in batches as they are read. It has a
// session until it has been read to its end or is closed.
type Rowset struct {
	op      string
	writes  bool
	session *session
	rows    Rows
	release func(*session) // returns the session
	columns []string
	used    time.Duration // when a batch was last fetched, by ElapsedMax

	mu      sync.Mutex // held while a call is in progress
	batch   []Value    // the fields of the rows that have been fetched
	fetched int        // rows in batch
	next    int        // index of the next row in batch
	size    int        // of the next batch, in rows
	bytes   int64      // of all batches
	err     error      // what comes after batch
	done    bool       // the statement has ended
	closed  bool       // the session was returned

	closeRequested atomic.Bool // Close was called
}

// newRowset returns the rows of a statement that has a session of its own. reading
// says that a read-only transaction is open there.
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

// Columns returns the names of the columns.
func (r *Rowset) Columns() []string { return r.columns }

// Size returns about how many bytes of memory a row takes, with its strings.
func Size(row []Value) int {
	n := rowBytes + len(row)*fieldBytes
	for i := range row {
		n += len(row[i].text)
	}
	return n
}

// Next returns the next row, or io.EOF after the last one. A row is valid until
// the next call.
func (r *Rowset) Next(ctx context.Context) ([]Value, error) {
	r.mu.Lock()
	defer r.unlock()
	if r.next == r.fetched && r.err == nil {
		r.fetch(ctx)
	}
	if row, ok := r.nextInBatch(); ok {
		return row, nil
	}
	return nil, r.err
}

// Fetched is Next for a row that was fetched already; ok is false if none was.
func (r *Rowset) Fetched() (row []Value, ok bool) {
	r.mu.Lock()
	defer r.unlock()
	return r.nextInBatch()
}

// unlock ends a call, and carries out a Close that was called meanwhile.
func (r *Rowset) unlock() {
	r.mu.Unlock()
	if r.closeRequested.Load() {
		r.Close()
	}
}

// nextInBatch returns the next row of the batch, if there is one.
func (r *Rowset) nextInBatch() (row []Value, ok bool) {
	if r.next == r.fetched {
		return nil, false
	}
	n := len(r.columns)
	row = r.batch[r.next*n : (r.next+1)*n]
	r.next++
	return row, true
}

// fetch fetches the next batch, and returns the session after the last one.
func (r *Rowset) fetch(ctx context.Context) {
	if r.closeRequested.Load() {
		r.err = r.closedError()
	}
	if r.err != nil {
		return
	}
	s := r.session
	r.used = s.pool.db.options.Clock.ElapsedMax()
	if r.err = r.checkColumns(); r.err == nil {
		c, err := s.do(ctx, r.readBatch)
		c.sent.Store(true) // the statement was, before this call
		switch {
		case c.held.Load() && r.writes && r.resolve(ctx):
			r.err = callEnded()
		case err == nil && r.op == opQuery && r.bytes > s.pool.db.options.ResultBytesMax:
			s.conn.exceeded.Store(true)
			r.err = s.classify(r.op, errTooLarge, c, r.writes)
		case err == nil && r.done:
			r.err, s.busy = io.EOF, false
		case err == nil:
		default: // rows may be left: the session stays busy
			r.err = s.classify(r.op, err, c, r.writes)
		}
	}
	if r.err != nil {
		r.releaseSession()
	}
}

// resolve reports whether the outcome of a statement that writes is known, though
// its call has ended: the server may have reported it already, or does so now that
// it was asked to cancel.
func (r *Rowset) resolve(ctx context.Context) bool {
	detached, cancel := context.WithTimeout(clock.Detach(ctx), rollbackGrace)
	defer cancel()
	_, err := r.session.doWith(detached, 0, func() (err error) {
		for err == nil && !r.done {
			err = r.readBatch()
		}
		return err
	})
	clear(r.batch)
	r.batch, r.fetched, r.next = nil, 0, 0
	r.session.unusable = true
	return err == nil || r.session.isResponse(err)
}

// readBatch reads a batch of rows over the previous one.
func (r *Rowset) readBatch() error {
	clear(r.batch)
	r.batch, r.fetched, r.next = r.batch[:0], 0, 0
	n, bytes := len(r.columns), 0
	for r.fetched < r.size && bytes < batchBytes {
		r.session.conn.resetBudget()
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

// checkColumns refuses rows in which two columns have the same name.
func (r *Rowset) checkColumns() error {
	if r.size > 1 {
		return nil // it was checked before the first batch
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

// releaseSession returns the session, once.
func (r *Rowset) releaseSession() {
	if !r.closed {
		r.closed = true
		r.release(r.session)
	}
}

// closedError returns the error of rows that have been closed.
func (r *Rowset) closedError() error {
	return &outcome.Error{
		Code: CodeClosed, Op: r.op, Key: r.session.pool.name,
		Message: "the rows have been closed: their connection was needed, or their transaction is over",
	}
}

// Close returns the session without reading on. It may be called at any time, also
// while Next is in progress, and doesn't wait.
func (r *Rowset) Close() {
	r.closeRequested.Store(true)
	if !r.mu.TryLock() {
		// Next finds the connection cut, and returns the session.
		r.session.conn.cut()
		r.session.raw.Break()
		return
	}
	defer r.mu.Unlock()
	r.batch, r.fetched, r.next = nil, 0, 0
	if r.err == nil {
		r.err = r.closedError()
	}
	r.releaseSession()
}

// drain reads all rows that are left and drops them.
func (r *Rowset) drain(ctx context.Context) error {
	for {
		_, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			r.err = r.closedError()
			return nil
		}
		if err != nil {
			return err
		}
	}
}
