package sql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/spelling"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Conn is a named database of a tenant, for one run. Its statements go over any
// of the connections in the pool.
type Conn struct {
	pool *pool
	open *OpenRows // of the run
}

// Open returns the database that the tenant knows by name, for the run that
// keeps its open rows in open. It makes no request.
func (db *DB) Open(id tenant.ID, name string, open *OpenRows) (*Conn, error) {
	p, err := db.pool(id, name)
	if err != nil {
		return nil, err
	}
	return &Conn{p, open}, nil
}

func (db *DB) pool(id tenant.ID, name string) (*pool, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	key := poolKey{id, name}
	if p := db.pools[key]; p != nil {
		return p, nil
	}
	all := db.options.Connections(id)
	c, ok := all[name]
	if !ok {
		return nil, unknownConnection(name, slices.Sorted(maps.Keys(all)))
	}
	d := db.options.Drivers[c.Driver]
	if d == nil {
		return nil, &outcome.Error{Code: CodeUnavailable, Op: opOpen, Key: name, Message: "this program doesn't have its driver"}
	}
	setDefault(&c.MaxOpen, defaultMaxOpen)
	p := newPool(db, id, name, c, d)
	db.pools[key] = p
	return p, nil
}

func unknownConnection(name string, known []string) error {
	text := "no connection of that name is configured"
	if near := spelling.Nearest(name, known); near != "" {
		text += fmt.Sprintf(", did you mean %q?", near)
	} else if len(known) > 0 {
		text += ", known are " + strings.Join(known, ", ")
	}
	return &outcome.Error{Code: CodeUnavailable, Op: opOpen, Key: name, Message: text}
}

// ReadOnly reports whether nothing can be changed over it.
func (c *Conn) ReadOnly() bool { return c.pool.connection.ReadOnly }

// Query sends a statement and returns its rows. Until they have been read to
// their end it isn't known what the statement has changed.
func (c *Conn) Query(ctx context.Context, st Statement) (*Rowset, error) {
	return c.start(ctx, opQuery, st)
}

// Each sends a statement that only reads and returns its rows, which may be
// read later. A run has few of them open at a time: see [OpenRows].
func (c *Conn) Each(ctx context.Context, st Statement) (*Rowset, error) {
	c.open.makeRoom(c.pool)
	r, err := c.start(ctx, opEach, st)
	if err != nil {
		return nil, err
	}
	c.open.add(r)
	return r, nil
}

// Stream sends a statement that only reads and returns its rows as JSON lines:
// an object in each. They are not among the run's [OpenRows], so they stay open
// until they have been read or are closed.
func (c *Conn) Stream(ctx context.Context, st Statement) (stream.Source, error) {
	rows, err := c.start(ctx, opStream, st)
	if err != nil {
		return nil, err
	}
	return &jsonLines{rows: rows}, nil
}

// start sends a statement over a session of its own, which its rows then hold.
func (c *Conn) start(ctx context.Context, op string, st Statement) (*Rowset, error) {
	p := c.pool
	if err := st.check(op, false, p.connection.ReadOnly); err != nil {
		return nil, p.withContext(err)
	}
	c.open.closeBlocking(p, st)
	s, err := p.get(ctx, c.open)
	if err != nil {
		return nil, notSent(err, op, op == opQuery && !p.connection.ReadOnly)
	}
	started := false
	defer func() {
		if !started {
			p.put(s)
		}
	}()
	reading := op != opQuery
	writes := !reading && !p.connection.ReadOnly
	if reading {
		// The server itself sees that nothing is changed.
		if err := s.txControl(ctx, op, false, func() error { return s.raw.Begin(true) }); err != nil {
			return nil, err
		}
	}
	rows, err := s.query(ctx, op, st, writes)
	if err != nil {
		if reading {
			s.rollback(ctx)
		}
		return nil, err
	}
	started = true
	return newRowset(s, rows, op, writes, reading), nil
}

// Exec sends a statement, waits until it is done and drops its rows.
func (c *Conn) Exec(ctx context.Context, st Statement) (Result, error) {
	p := c.pool
	if err := st.check(opExec, false, p.connection.ReadOnly); err != nil {
		return Result{}, p.withContext(err)
	}
	c.open.closeBlocking(p, st)
	s, err := p.get(ctx, c.open)
	if err != nil {
		return Result{}, notSent(err, opExec, true)
	}
	defer p.put(s)
	return s.exec(ctx, st)
}

// withContext adds the connection's name to an error.
func (p *pool) withContext(err error) error {
	if e, ok := err.(*outcome.Error); ok {
		e.Key = p.name
	}
	return err
}
