package dynamo_test

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

// untimed removes the time limit of attempts. On a machine that is busy with other
// tests the emulator can take longer than that, and these tests compare what it
// answers, not when.
type untimed struct{ *dynamo.Store }

func (u untimed) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	return u.Store.Get(context.WithoutCancel(ctx), key, stale)
}

func (u untimed) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	return u.Store.GetMany(context.WithoutCancel(ctx), keys, stale)
}

func (u untimed) Query(ctx context.Context, q db.Query) db.QueryResult {
	return u.Store.Query(context.WithoutCancel(ctx), q)
}

func (u untimed) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	return u.Store.Write(context.WithoutCancel(ctx), w, now)
}

func (u untimed) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	return u.Store.Transact(context.WithoutCancel(ctx), token, writes, now)
}
