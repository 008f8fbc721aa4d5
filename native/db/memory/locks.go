package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

var _ lock.Table = (*Store)(nil)
var _ lock.Lister = (*Store)(nil)

// PutLock implements [lock.Table].
func (s *Store) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) (result lock.RowResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		if held, ok := s.locks[row.Key]; ok && held.Until > now {
			result.Old = &held
			return outcome.Refused
		}
		s.locks[row.Key] = row
		return outcome.Applied
	})
	return result
}

// DeleteLock implements [lock.Table].
func (s *Store) DeleteLock(ctx context.Context, key lock.Key, owner string) (result lock.RowResult) {
	result.Attempt = s.attempt(ctx, func() outcome.Outcome {
		held, ok := s.locks[key]
		if !ok {
			return outcome.Refused
		}
		if held.Owner != owner {
			result.Old = &held
			return outcome.Refused
		}
		delete(s.locks, key)
		return outcome.Applied
	})
	return result
}

// ListLocks implements [lock.Lister]. All rows are on one page.
func (s *Store) ListLocks(ctx context.Context, id tenant.ID, after string) (page lock.Page) {
	page.Attempt = s.attempt(ctx, func() outcome.Outcome {
		for key, row := range s.locks {
			if key.Tenant == id && key.Name > after {
				page.Rows = append(page.Rows, row)
			}
		}
		return outcome.Applied
	})
	slices.SortFunc(page.Rows, func(a, b lock.Row) int { return strings.Compare(a.Name, b.Name) })
	return page
}
