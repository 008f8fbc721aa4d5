package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/value"
)

func TestReservedIsStoredWhereNoScriptCanRead(t *testing.T) {
	faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
		p := f.DB.Reserved("acme", "schedules")
		rev, _, err := p.Put(f.Context(), db.HostScope(f.Context()), "key", value.Map{"run": "r1"}, db.PutOptions{})
		if err != nil {
			f.Fatal(err)
		}
		got := store.Store.Get(f.Context(), db.Key{Partition: "acme/!schedules", Key: "key"}, false)
		if got.Row == nil || got.Row.Rev != rev {
			f.Errorf("acme/!schedules has %v, want revision %s", got.Row, rev)
		}
		_, err = f.DB.Open("acme", p.Name())
		f.WantCode(err, db.CodeKey)
	})
}

func TestReservedWriteIsAttemptedUntilItsOutcomeIsKnown(t *testing.T) {
	for _, test := range []struct {
		name     string
		faults   []dbtest.Fault
		applied  bool
		code     string
		attempts int
	}{
		{name: "lost once, then recognised", faults: append(repeat(dbtest.ResponseLost, 1), repeat(dbtest.Throttled, 10)...), applied: true, attempts: 12},
		{name: "dropped many times", faults: repeat(dbtest.RequestLost, 19), applied: true, attempts: 20},
		{name: "dropped each time", faults: repeat(dbtest.RequestLost, 30), code: db.CodeUnknown, attempts: 20},
		{name: "denied", faults: repeat(dbtest.Denied, 1), code: db.CodeUnavailable, attempts: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			faulty(t, test.faults, func(f *dbtest.Fixture, store *dbtest.Faulty) {
				rev, _, err := f.DB.Reserved("acme", "p").Put(f.Context(), db.HostScope(f.Context()), "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
				if test.code != "" {
					f.WantCode(err, test.code)
				} else if err != nil {
					f.Error(err)
				}
				if applied := rev != ""; applied != test.applied || store.Attempts != test.attempts {
					f.Errorf("applied %v after %d attempts, want %v after %d", applied, store.Attempts, test.applied, test.attempts)
				}
			})
		})
	}
}

func TestReservedWriteOfUnknownOutcomeShowsTheRowInTheWay(t *testing.T) {
	faulty(t, repeat(dbtest.ResponseLost, 1), func(f *dbtest.Fixture, store *dbtest.Faulty) {
		store.Before = func(attempt int) {
			if attempt == 2 {
				w := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/!p", Key: "key"}, Value: 2.0, Rev: "another's"}
				store.Store.Write(f.Context(), w, 0)
			}
		}
		_, current, err := f.DB.Reserved("acme", "p").Put(f.Context(), db.HostScope(f.Context()), "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
		f.WantCode(err, db.CodeUnknown)
		if current == nil || current.Rev != "another's" {
			f.Errorf("row in the way is %v, want the other one", current)
		}
	})
}

func TestReservedTakesNoRepetitionsFromScripts(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 150), func(f *dbtest.Fixture, store *dbtest.Faulty) {
		p := f.DB.Reserved("acme", "p")
		for store.Attempts < 150 {
			p.Put(f.Context(), db.HostScope(f.Context()), "key", 1.0, db.PutOptions{})
		}
		store.Faults = repeat(dbtest.Throttled, 3)
		f.Put("key", 1.0)
	})
}

func TestHostScopeHasTheTimeOfItsContext(t *testing.T) {
	faulty(t, repeat(dbtest.Unreachable, 30), func(f *dbtest.Fixture, _ *dbtest.Faulty) {
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, _, err := f.DB.Reserved("acme", "p").Put(ctx, db.HostScope(ctx), "key", 1.0, db.PutOptions{})
		f.WantCode(err, db.CodeUnavailable)
		if took := time.Since(start); took > time.Second {
			f.Errorf("took %v, want at most a second", took)
		}
	})
}
