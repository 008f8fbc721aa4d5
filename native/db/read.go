package db

import (
	"context"
	"slices"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// keysMax is how many different keys GetMany takes.
const keysMax = 100

// Get reads the row of key, nil if there is none. It sees every write that was
// answered before, unless it is stale.
func (p *Partition) Get(ctx context.Context, account RunScope, key string, stale bool) (*Row, error) {
	if err := checkKey(key); err != nil {
		return nil, about(err, "get", key)
	}
	return p.get(ctx, account, "get", key, stale)
}

// get is Get on behalf of any verb.
func (p *Partition) get(ctx context.Context, account RunScope, op, key string, stale bool) (*Row, error) {
	c := p.call(ctx, account, op, key)
	var answer RowResult
	_, err := c.do(func(ctx context.Context) outcome.Attempt {
		answer = p.db.store.Get(ctx, p.row(key), stale)
		return answer.Attempt
	})
	if err != nil {
		return nil, err
	}
	return p.db.alive(answer.Row), nil
}

// alive returns row, or nil if it has expired.
func (d *DB) alive(row *Row) *Row {
	if !row.Alive(d.now()) {
		return nil
	}
	return row
}

// GetMany reads the rows of up to 100 different keys; repeated ones count
// once. Those found are returned under their keys. It has every answer or
// fails: a key that is not in the map has no row. Each key costs one data
// operation.
func (p *Partition) GetMany(ctx context.Context, account RunScope, keys []string, stale bool) (map[string]*Row, error) {
	var unread []Key
	seen := make(map[string]bool)
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return nil, about(err, "get_many", key)
		}
		if seen[key] {
			continue
		}
		if len(unread) == keysMax {
			return nil, about(refuse(CodeTooLarge, "more than %d different keys", keysMax), "get_many", "")
		}
		seen[key] = true
		unread = append(unread, p.row(key))
	}
	found := make(map[string]*Row, len(unread))
	most := len(unread) // keys of one request
	c := p.call(ctx, account, "get_many", "")
	for first := true; len(unread) > 0; first = false {
		if !first && !p.db.pause(ctx, account, pauseBase, 1) {
			return nil, about(&outcome.Error{Code: CodeThrottled, Message: "the store left keys unread, and there is no time to ask again", Retryable: true}, "get_many", "")
		}
		var err error
		if unread, err = p.getSome(c, unread, &most, found, stale); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// getSome reads at least one of keys into found and returns those left unread.
// Parts of the answer that have come are kept; a store that answers without
// having read anything is overloaded. It asks for at most so many keys at once,
// and for half of them if no answer comes: there may have been too much to
// answer in the time that an attempt has.
func (p *Partition) getSome(c *call, keys []Key, most *int, found map[string]*Row, stale bool) (unread []Key, err error) {
	asked := keys[:min(*most, len(keys))]
	c.attempts, c.price = 0, int64(len(asked))
	var answer BatchResult
	_, err = c.do(func(ctx context.Context) outcome.Attempt {
		answer = p.db.store.GetMany(ctx, asked, stale)
		if answer.Outcome == outcome.Applied && len(answer.Unread) == len(asked) {
			answer.Outcome = outcome.NotApplied
			answer.Err = &outcome.Error{Code: CodeThrottled, Message: "the store answered without reading any key", Retryable: true}
		}
		if answer.Outcome == outcome.NotApplied && cause(answer.Err).Code == CodeUnavailable {
			*most = max(1, len(asked)/2)
			asked = asked[:*most]
			c.price = int64(*most)
		}
		return answer.Attempt
	})
	now := p.db.now()
	for key, row := range answer.Rows {
		if row.Alive(now) {
			found[key.Key] = &row
		}
	}
	return slices.Concat(answer.Unread, keys[len(asked):]), err
}
