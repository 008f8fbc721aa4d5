package dynamo_test

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

// patient lets the emulator answer as late as it likes. On a machine that is
// busy with other tests it can take longer than an attempt of native.db may,
// and what is compared here is what it answers, not when.
type patient struct{ *dynamo.Store }

func (p patient) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	return p.Store.Get(context.WithoutCancel(ctx), key, stale)
}

func (p patient) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	return p.Store.GetMany(context.WithoutCancel(ctx), keys, stale)
}

func (p patient) Query(ctx context.Context, q db.Query) db.QueryResult {
	return p.Store.Query(context.WithoutCancel(ctx), q)
}

func (p patient) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	return p.Store.Write(context.WithoutCancel(ctx), w, now)
}

func (p patient) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	return p.Store.Transact(context.WithoutCancel(ctx), token, writes, now)
}
