package db

import (
	"context"
	"slices"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// keysMax is how many different keys GetMany takes.
const keysMax = 100

// Get reads the row of key, nil if there is none. It sees every write that was
// answered before; stale allows it to miss recent ones, for half the price in
// DynamoDB.
func (p *Partition) Get(ctx context.Context, scope RunScope, key string, stale bool) (*Row, error) {
	if err := checkKey(key); err != nil {
		return nil, withContext(err, "get", key)
	}
	return p.get(ctx, scope, "get", key, stale)
}

// get is Get as a part of the operation op.
func (p *Partition) get(ctx context.Context, scope RunScope, op, key string, stale bool) (*Row, error) {
	c := p.call(ctx, scope, op, key)
	var read RowResult
	_, err := c.do(func(ctx context.Context) outcome.Attempt {
		read = p.db.store.Get(ctx, p.row(key), stale)
		return read.Attempt
	})
	if err != nil {
		return nil, err
	}
	return p.db.alive(read.Row), nil
}

// alive returns row, or nil if it has expired.
func (d *DB) alive(row *Row) *Row {
	if !row.Alive(d.now()) {
		return nil
	}
	return row
}

// GetMany reads the rows of up to 100 different keys; repeated ones count once.
// It returns all rows that there are, by their keys, or fails: a key that is not
// in the map has no row. Each key costs one data operation.
func (p *Partition) GetMany(ctx context.Context, scope RunScope, keys []string, stale bool) (map[string]*Row, error) {
	var unread []Key
	seen := make(map[string]bool)
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return nil, withContext(err, "get_many", key)
		}
		if seen[key] {
			continue
		}
		if len(unread) == keysMax {
			return nil, withContext(refuse(CodeTooLarge, "more than %d different keys", keysMax), "get_many", "")
		}
		seen[key] = true
		unread = append(unread, p.row(key))
	}
	b := batch{call: p.call(ctx, scope, "get_many", ""), rows: make(map[string]*Row, len(unread)), size: len(unread), stale: stale}
	for first := true; len(unread) > 0; first = false {
		if !first && !p.db.pause(ctx, scope, pauseBase, 1) {
			return nil, withContext(&outcome.Error{Code: CodeThrottled, Message: "the store left keys unread, and there is no time to ask again", Retryable: true}, "get_many", "")
		}
		var err error
		if unread, err = b.read(unread); err != nil {
			return nil, err
		}
	}
	return b.rows, nil
}

// batch collects the rows of GetMany.
type batch struct {
	*call
	rows  map[string]*Row
	size  int // the most keys of one request
	stale bool
}

// read reads at least one of keys and returns those left unread. A result that
// leaves keys unread counts; one that has read none at all shows that the store
// is overloaded. After each attempt without a result the size is halved: there may
// have been too much to read in the time that an attempt has.
func (b *batch) read(keys []Key) (unread []Key, err error) {
	wanted := keys[:min(b.size, len(keys))]
	b.attempts, b.price = 0, int64(len(wanted))
	var result BatchResult
	_, err = b.do(func(ctx context.Context) outcome.Attempt {
		result = b.db.store.GetMany(ctx, wanted, b.stale)
		if result.Outcome == outcome.Applied && len(result.Unread) == len(wanted) {
			result.Outcome = outcome.NotApplied
			result.Err = &outcome.Error{Code: CodeThrottled, Message: "the store answered without reading any key", Retryable: true}
		}
		if result.Outcome == outcome.NotApplied && classify(result.Err).Code == CodeUnavailable {
			b.size = max(1, len(wanted)/2)
			wanted = wanted[:b.size]
			b.price = int64(b.size)
		}
		return result.Attempt
	})
	now := b.db.now()
	for key, row := range result.Rows {
		if row.Alive(now) {
			b.rows[key.Key] = &row
		}
	}
	return slices.Concat(result.Unread, keys[len(wanted):]), err
}
