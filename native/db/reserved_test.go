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
	faulty(t, nil, func(b *dbtest.Bench, store *dbtest.Faulty) {
		p := b.DB.Reserved("acme", "schedules")
		rev, _, err := p.Put(b.Context(), db.HostScope(b.Context()), "key", value.Map{"run": "r1"}, db.PutOptions{})
		if err != nil {
			b.Fatal(err)
		}
		got := store.Store.Get(b.Context(), db.Key{Partition: "acme/!schedules", Key: "key"}, false)
		if got.Row == nil || got.Row.Rev != rev {
			b.Errorf("acme/!schedules has %v, want revision %s", got.Row, rev)
		}
		_, err = b.DB.Open("acme", p.Name())
		b.WantCode(err, db.CodeKey)
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
		{name: "lost once, then recognised", faults: append(repeat(dbtest.Lost, 1), repeat(dbtest.Throttled, 10)...), applied: true, attempts: 12},
		{name: "dropped many times", faults: repeat(dbtest.Dropped, 19), applied: true, attempts: 20},
		{name: "dropped each time", faults: repeat(dbtest.Dropped, 30), code: db.CodeUnknown, attempts: 20},
		{name: "denied", faults: repeat(dbtest.Denied, 1), code: db.CodeUnavailable, attempts: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			faulty(t, test.faults, func(b *dbtest.Bench, store *dbtest.Faulty) {
				rev, _, err := b.DB.Reserved("acme", "p").Put(b.Context(), db.HostScope(b.Context()), "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
				if test.code != "" {
					b.WantCode(err, test.code)
				} else if err != nil {
					b.Error(err)
				}
				if applied := rev != ""; applied != test.applied || store.Attempts != test.attempts {
					b.Errorf("applied %v after %d attempts, want %v after %d", applied, store.Attempts, test.applied, test.attempts)
				}
			})
		})
	}
}

func TestReservedWriteOfUnknownOutcomeShowsTheRowInTheWay(t *testing.T) {
	faulty(t, repeat(dbtest.Lost, 1), func(b *dbtest.Bench, store *dbtest.Faulty) {
		store.Before = func(attempt int) {
			if attempt == 2 {
				w := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/!p", Key: "key"}, Value: 2.0, Rev: "another's"}
				store.Store.Write(b.Context(), w, 0)
			}
		}
		_, current, err := b.DB.Reserved("acme", "p").Put(b.Context(), db.HostScope(b.Context()), "key", 1.0, db.PutOptions{If: db.Condition{New: true}})
		b.WantCode(err, db.CodeUnknown)
		if current == nil || current.Rev != "another's" {
			b.Errorf("row in the way is %v, want the other one", current)
		}
	})
}

func TestReservedTakesNoRepetitionsFromScripts(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 150), func(b *dbtest.Bench, store *dbtest.Faulty) {
		p := b.DB.Reserved("acme", "p")
		for store.Attempts < 150 {
			p.Put(b.Context(), db.HostScope(b.Context()), "key", 1.0, db.PutOptions{})
		}
		store.Faults = repeat(dbtest.Throttled, 3)
		b.Put("key", 1.0)
	})
}

func TestHostScopeHasTheTimeOfItsContext(t *testing.T) {
	faulty(t, repeat(dbtest.Down, 30), func(b *dbtest.Bench, _ *dbtest.Faulty) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, _, err := b.DB.Reserved("acme", "p").Put(ctx, db.HostScope(ctx), "key", 1.0, db.PutOptions{})
		b.WantCode(err, db.CodeUnavailable)
		if took := time.Since(start); took > time.Second {
			b.Errorf("took %v, want at most a second", took)
		}
	})
}
