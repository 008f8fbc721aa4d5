package sql

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Tx is an open transaction. It has a session of its own until it is over.
type Tx struct {
	open    *OpenRows // of the run
	session *session
	rows    *Rowset // those that are being read; nil for none
	over    bool
}

// Begin starts a transaction. A run has at most one on each connection name.
func (c *Conn) Begin(ctx context.Context) (*Tx, error) {
	p := c.pool
	if c.open.transactions[p] {
		return nil, &outcome.Error{
			Code: CodeFailed, Op: opTransaction, Key: p.name,
			Message: "a transaction is open: it can't have another one inside",
		}
	}
	s, err := p.get(ctx, c.open)
	if err != nil {
		return nil, notSent(err, opTransaction, !p.connection.ReadOnly)
	}
	if err := s.txControl(ctx, opTransaction, false, func() error { return s.raw.Begin(p.connection.ReadOnly) }); err != nil {
		p.put(s)
		return nil, err
	}
	c.open.transactions[p] = true
	return &Tx{open: c.open, session: s}, nil
}

// ReadOnly reports whether nothing can be changed in it.
func (t *Tx) ReadOnly() bool { return t.session.pool.connection.ReadOnly }

// Query sends a statement and returns its rows.
func (t *Tx) Query(ctx context.Context, st Statement) (*Rowset, error) {
	return t.start(ctx, opQuery, st)
}

// Each sends a statement that only reads and returns its rows. They are closed
// when the transaction is used again.
func (t *Tx) Each(ctx context.Context, st Statement) (*Rowset, error) {
	return t.start(ctx, opEach, st)
}

func (t *Tx) start(ctx context.Context, op string, st Statement) (*Rowset, error) {
	if err := t.prepare(ctx, op, st); err != nil {
		return nil, err
	}
	writes := !t.ReadOnly() && op == opQuery
	rows, err := t.session.query(ctx, op, st, writes)
	if err != nil {
		return nil, err
	}
	t.rows = newRowset(t.session, rows, op, writes, false)
	t.rows.release = func(s *session) {
		t.rows = nil
		s.unusable = s.unusable || s.busy // rows are left that nothing will read
	}
	return t.rows, nil
}

// Exec sends a statement, waits until it is done and drops its rows.
func (t *Tx) Exec(ctx context.Context, st Statement) (Result, error) {
	if err := t.prepare(ctx, opExec, st); err != nil {
		return Result{}, err
	}
	return t.session.exec(ctx, st)
}

// prepare checks a statement and makes the session ready for it.
func (t *Tx) prepare(ctx context.Context, op string, st Statement) error {
	p := t.session.pool
	if t.over {
		return &outcome.Error{Code: CodeClosed, Op: op, Key: p.name, Message: "the transaction is over"}
	}
	if err := st.check(op, true, p.connection.ReadOnly); err != nil {
		return p.withContext(err)
	}
	t.open.closeBlocking(p, st)
	if t.session.unusable {
		return t.brokenError(op)
	}
	if t.rows != nil {
		return t.rows.drain(ctx)
	}
	return nil
}

// brokenError returns the error of a transaction that can only be rolled back.
func (t *Tx) brokenError(op string) error {
	p := t.session.pool
	return &outcome.Error{
		Code: CodeUnavailable, Op: op, Key: p.name, Retryable: true, Applied: outcome.AppliedNo,
		Message: "the connection broke off, or a statement was cut off: the transaction is rolled back",
	}
}

// Commit commits the transaction, which is over then, whatever Commit returns.
func (t *Tx) Commit(ctx context.Context) error {
	s := t.session
	if s.unusable {
		t.Rollback(ctx)
		return t.brokenError(opTransaction)
	}
	if t.rows != nil {
		if err := t.rows.drain(ctx); err != nil {
			t.Rollback(ctx)
			return err
		}
	}
	err := s.txControl(ctx, opTransaction, !t.ReadOnly(), s.raw.Commit)
	if err != nil && !s.unusable {
		s.rollback(ctx)
	}
	t.end()
	return err
}

// Rollback rolls the transaction back, unless it is over.
func (t *Tx) Rollback(ctx context.Context) {
	if t.over {
		return
	}
	if t.rows != nil {
		t.rows.Close()
	}
	t.session.rollback(ctx)
	t.end()
}

// end returns the session. If rows haven't been read it is closed, and the server
// rolls back.
func (t *Tx) end() {
	t.over = true
	delete(t.open.transactions, t.session.pool)
	t.session.pool.put(t.session)
}
