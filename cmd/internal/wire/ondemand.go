package wire

import (
	"context"
	"sync"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// onDemand is an engine that is opened by the first request, so that a script
// that stores nothing creates no file. Requests fail until it could be opened.
type onDemand struct {
	open  func() (Store, error)
	clock *clock.Dual

	mu     sync.Mutex // guards opened
	opened Store
}

// engine returns the opened store, or the failed attempt of the request if it
// can't be opened.
func (o *onDemand) engine() (Store, outcome.Attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		now := o.clock.Read()
		e, err := o.open()
		if err != nil {
			return nil, outcome.Attempt{Outcome: outcome.NotApplied, Sent: now, Received: o.clock.Read(), Err: &outcome.Error{
				Code: db.CodeUnavailable, Message: "the database can't be opened", Cause: err,
			}}
		}
		o.opened = e
	}
	return o.opened, outcome.Attempt{}
}

// DropIdle closes idle connections, if the engine has any.
func (o *onDemand) DropIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, ok := o.opened.(interface{ DropIdle() }); ok {
		e.DropIdle()
	}
}

// Close closes the engine if it was opened.
func (o *onDemand) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		return nil
	}
	return o.opened.Close()
}

func (o *onDemand) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	e, failed := o.engine()
	if e == nil {
		return db.RowResult{Attempt: failed}
	}
	return e.Get(ctx, key, stale)
}

func (o *onDemand) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	e, failed := o.engine()
	if e == nil {
		return db.BatchResult{Attempt: failed}
	}
	return e.GetMany(ctx, keys, stale)
}

func (o *onDemand) Query(ctx context.Context, q db.Query) db.QueryResult {
	e, failed := o.engine()
	if e == nil {
		return db.QueryResult{Attempt: failed}
	}
	return e.Query(ctx, q)
}

func (o *onDemand) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	e, failed := o.engine()
	if e == nil {
		return db.RowResult{Attempt: failed}
	}
	return e.Write(ctx, w, now)
}

func (o *onDemand) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	e, failed := o.engine()
	if e == nil {
		return db.TransactResult{Attempt: failed}
	}
	return e.Transact(ctx, token, writes, now)
}

func (o *onDemand) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	e, failed := o.engine()
	if e == nil {
		return lock.RowResult{Attempt: failed}
	}
	return e.PutLock(ctx, row, now)
}

func (o *onDemand) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	e, failed := o.engine()
	if e == nil {
		return lock.RowResult{Attempt: failed}
	}
	return e.DeleteLock(ctx, key, owner)
}

func (o *onDemand) ListLocks(ctx context.Context, id tenant.ID, after string) lock.Page {
	e, failed := o.engine()
	if e == nil {
		return lock.Page{Attempt: failed}
	}
	return e.ListLocks(ctx, id, after)
}
