package locktable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/task/locktable"
)

var errFault = errors.New("no answer")

// faulty is a table whose deletes fail with the given outcomes, one after the
// other; those of unknown outcome are applied.
type faulty struct {
	*memory.Store
	faults   []outcome.Outcome
	attempts int
}

func (f *faulty) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	f.attempts++
	if len(f.faults) == 0 {
		return f.Store.DeleteLock(ctx, key, owner)
	}
	fault := f.faults[0]
	f.faults = f.faults[1:]
	if fault == outcome.Unknown {
		f.Store.DeleteLock(ctx, key, owner)
	}
	return lock.RowResult{Attempt: outcome.Attempt{Outcome: fault, Err: errFault}}
}

func newFaulty(t *testing.T, key lock.Key, faults ...outcome.Outcome) *faulty {
	f := &faulty{Store: memory.New(clock.NewDual(clock.System())), faults: faults}
	now := lock.UnixMilli(time.Now().UnixMilli())
	row := lock.Row{Key: key, Owner: "owner", Start: now, Until: now + 60_000}
	if a := f.PutLock(t.Context(), row, now); a.Outcome != outcome.Applied {
		t.Fatal(a)
	}
	return f
}

func TestFree(t *testing.T) {
	key := lock.Key{Tenant: "a", Name: "job"}
	for _, test := range []struct {
		name     string
		faults   []outcome.Outcome
		owner    string
		freed    bool
		held     bool // whether a row is in the way
		err      error
		attempts int
	}{
		{"ByItsOwner", nil, "owner", true, false, nil, 1},
		{"ByAnother", nil, "other", false, true, nil, 1},
		{"RepeatedWhenNotApplied", []outcome.Outcome{outcome.NotApplied, outcome.NotApplied}, "owner", true, false, nil, 3},
		{"LostAnswerIsRecognised", []outcome.Outcome{outcome.Unknown}, "owner", true, false, nil, 2},
		{"NoAnswer", []outcome.Outcome{outcome.NotApplied, outcome.NotApplied, outcome.NotApplied}, "owner", false, false, errFault, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFaulty(t, key, test.faults...)
				freed, row, err := locktable.Free(t.Context(), f, key, test.owner)
				if freed != test.freed || (row != nil) != test.held || !errors.Is(err, test.err) || f.attempts != test.attempts {
					t.Errorf("got %v, %v, %v after %d attempts, want %+v", freed, row, err, f.attempts, test)
				}
			})
		})
	}
}

func TestHolderChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := lock.Key{Tenant: "a", Name: "job"}
		f := newFaulty(t, key)
		for range 2 {
			if row, err := locktable.Holder(t.Context(), f, key); err != nil || row == nil || row.Owner != "owner" {
				t.Errorf("got %v, %v, want the row", row, err)
			}
		}
		if row, err := locktable.Holder(t.Context(), f, lock.Key{Tenant: "a", Name: "free"}); err != nil || row != nil {
			t.Errorf("got %v, %v of a free lock, want none", row, err)
		}
	})
}
