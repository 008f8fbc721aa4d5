package sql

import (
	"context"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Tx is an open transaction. It has a session of its own until it is over.
type Tx struct {
	holding *OpenRows
	session *session
	loop    *Rowset // the rows that are being read; nil for none
	over    bool
}

// Begin starts a transaction. A run has at most one on each connection name.
func (c *Conn) Begin(ctx context.Context, h *OpenRows) (*Tx, error) {
	p := c.pool
	if h.transactions[p] {
		return nil, &outcome.Error{
			Code: CodeFailed, Op: opTransaction, Key: p.name,
			Message: "a transaction is open: it can't have another one inside",
		}
	}
	s, err := p.take(ctx, h)
	if err != nil {
		return nil, unsent(err, opTransaction, !p.connection.ReadOnly)
	}
	if err := s.step(ctx, opTransaction, false, func() error { return s.raw.Begin(p.connection.ReadOnly) }); err != nil {
		p.put(s)
		return nil, err
	}
	h.transactions[p] = true
	return &Tx{holding: h, session: s}, nil
}

// ReadOnly says whether nothing can be changed in it.
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
	if err := t.ready(ctx, op, st); err != nil {
		return nil, err
	}
	rows, err := t.session.query(ctx, op, st, !t.ReadOnly() && op == opQuery)
	if err != nil {
		return nil, err
	}
	t.loop = newRowset(t.session, rows, op, !t.ReadOnly() && op == opQuery, false)
	t.loop.release = func(s *session) {
		t.loop = nil
		s.spoiled = s.spoiled || s.busy // rows are left that nobody will read
	}
	return t.loop, nil
}

// Exec sends a statement and returns what became of it.
func (t *Tx) Exec(ctx context.Context, st Statement) (Result, error) {
	if err := t.ready(ctx, opExec, st); err != nil {
		return Result{}, err
	}
	return t.session.exec(ctx, st)
}

// ready makes the session free for the statement.
func (t *Tx) ready(ctx context.Context, op string, st Statement) error {
	p := t.session.pool
	if t.over {
		return &outcome.Error{Code: CodeClosed, Op: op, Key: p.name, Message: "the transaction is over"}
	}
	if err := st.check(op, true, p.connection.ReadOnly); err != nil {
		return p.named(err)
	}
	t.holding.makeWay(p, st)
	if t.session.spoiled {
		return t.broken(op)
	}
	if t.loop != nil {
		return t.loop.drain(ctx)
	}
	return nil
}

// broken is the error of a transaction that can only be rolled back.
func (t *Tx) broken(op string) error {
	p := t.session.pool
	return &outcome.Error{
		Code: CodeUnavailable, Op: op, Key: p.name, Retryable: true, Applied: outcome.AppliedNo,
		Message: fmt.Sprintf("the connection to %s broke off, or a statement was cut off: the transaction is rolled back", p.place()),
	}
}

// Commit makes the transaction last. Whatever it returns, the transaction is
// over.
func (t *Tx) Commit(ctx context.Context) error {
	s := t.session
	if s.spoiled {
		t.Rollback(ctx)
		return t.broken(opTransaction)
	}
	if t.loop != nil {
		if err := t.loop.drain(ctx); err != nil {
			t.Rollback(ctx)
			return err
		}
	}
	err := s.step(ctx, opTransaction, !t.ReadOnly(), s.raw.Commit)
	if err != nil && !s.spoiled {
		s.rollback(ctx)
	}
	t.end()
	return err
}

// Rollback undoes the transaction if it isn't over.
func (t *Tx) Rollback(ctx context.Context) {
	if t.over {
		return
	}
	if t.loop != nil {
		t.loop.Close()
	}
	t.session.rollback(ctx)
	t.end()
}

// end gives the session back. If rows haven't been read it is closed, and the
// server rolls back.
func (t *Tx) end() {
	t.over = true
	delete(t.holding.transactions, t.session.pool)
	t.session.pool.put(t.session)
}
