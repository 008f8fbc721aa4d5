package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/tenant"
)

var _ lock.Table = (*Store)(nil)
var _ lock.Lister = (*Store)(nil)

// PutLock implements [lock.Table].
func (s *Store) PutLock(ctx context.Context, row lock.Row, now lock.Stamp) (answer lock.Answer) {
	answer.Attempt = s.attempt(ctx, func() native.Outcome {
		if held, ok := s.locks[row.Key]; ok && held.Until > now {
			answer.Old = &held
			return native.Refused
		}
		s.locks[row.Key] = row
		return native.Applied
	})
	return answer
}

// DeleteLock implements [lock.Table].
func (s *Store) DeleteLock(ctx context.Context, key lock.Key, owner string) (answer lock.Answer) {
	answer.Attempt = s.attempt(ctx, func() native.Outcome {
		held, ok := s.locks[key]
		if !ok {
			return native.Refused
		}
		if held.Owner != owner {
			answer.Old = &held
			return native.Refused
		}
		delete(s.locks, key)
		return native.Applied
	})
	return answer
}

// ListLocks implements [lock.Lister]. All rows are on one page.
func (s *Store) ListLocks(ctx context.Context, id tenant.ID, after string) (page lock.Page) {
	page.Attempt = s.attempt(ctx, func() native.Outcome {
		for key, row := range s.locks {
			if key.Tenant == id && key.Name > after {
				page.Rows = append(page.Rows, row)
			}
		}
		return native.Applied
	})
	slices.SortFunc(page.Rows, func(a, b lock.Row) int { return strings.Compare(a.Name, b.Name) })
	return page
}
