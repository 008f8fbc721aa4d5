package sqlite

import (
	"context"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

// A lock is a row like any other: its attributes are a map in v, and its owner is
// also the revision. Columns for them would be empty in all other rows; with one
// table, sweeping and reading the file stay simple.

// locksPage is how many locks one page of a list has.
const locksPage = 100

var _ lock.Table = (*Store)(nil)
var _ lock.Lister = (*Store)(nil)

// PutLock implements [lock.Table]. now comes from the wall clock of this machine.
func (s *Store) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) (result lock.RowResult) {
	key := lockKey(row.Key)
	result.Attempt = s.write(ctx, func(c *change) (outcome.Outcome, error) {
		old, err := c.get(key)
		if err != nil {
			return outcome.NotApplied, err
		}
		if old != nil {
			if held := lockRow(row.Key, old); held.Until > now {
				result.Old = &held
				return outcome.Refused, nil
			}
		}
		return outcome.Applied, c.set(key, lockValue(row))
	})
	return result
}

// DeleteLock implements [lock.Table].
func (s *Store) DeleteLock(ctx context.Context, key lock.Key, owner string) (result lock.RowResult) {
	result.Attempt = s.write(ctx, func(c *change) (outcome.Outcome, error) {
		old, err := c.get(lockKey(key))
		if err != nil {
			return outcome.NotApplied, err
		}
		if old == nil {
			return outcome.Refused, nil
		}
		if held := lockRow(key, old); held.Owner != owner {
			result.Old = &held
			return outcome.Refused, nil
		}
		return outcome.Applied, c.set(lockKey(key), nil)
	})
	return result
}

// ListLocks implements [lock.Lister].
func (s *Store) ListLocks(ctx context.Context, id tenant.ID, after string) (page lock.Page) {
	q := db.Query{
		Partition: lock.Key{Tenant: id}.Partition(),
		Low:       after + "\x00",
		High:      "\U0010FFFF",
		Limit:     locksPage,
	}
	page.Attempt = s.read(ctx, func() error {
		items, last, err := s.page(q)
		page.Rows, page.After = nil, last
		for _, item := range items {
			page.Rows = append(page.Rows, lockRow(lock.Key{Tenant: id, Name: item.Key}, &item.Row))
		}
		return err
	})
	return page
}

func lockKey(key lock.Key) db.Key { return db.Key{Partition: key.Partition(), Key: key.Name} }

func lockValue(row lock.Row) *db.Row {
	by := value.Map{}
	for name, text := range row.By.Attributes() {
		by[name] = text
	}
	v := value.Map{"owner": row.Owner, "start": float64(row.Start), "until": float64(row.Until), "by": by}
	return &db.Row{Value: v, Rev: row.Owner, Expires: row.Expiry()}
}

// lockRow reads a row. Attributes that are missing or of another type are zero.
func lockRow(key lock.Key, row *db.Row) lock.Row {
	v, _ := row.Value.(value.Map)
	by, _ := v["by"].(value.Map)
	return lock.Row{
		Key:   key,
		Owner: text(v, "owner"),
		Start: unixMilli(v, "start"),
		Until: unixMilli(v, "until"),
		By: lock.Holder{
			HostKind: text(by, "host_kind"),
			HostName: text(by, "host_name"),
			Process:  text(by, "process"),
			Run:      text(by, "run"),
			Script:   text(by, "script"),
		},
	}
}

func text(m value.Map, name string) string {
	s, _ := m[name].(string)
	return s
}

func unixMilli(m value.Map, name string) lock.UnixMilli {
	f, _ := m[name].(float64)
	return lock.UnixMilli(f)
}
