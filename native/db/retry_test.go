package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// faulty runs fn in a bubble of fake time with a bench over a store that goes
// wrong as told.
func faulty(t *testing.T, faults []dbtest.Fault, fn func(*dbtest.Fixture, *dbtest.Faulty)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clk := dbtest.NewClock()
		store := &dbtest.Faulty{Store: memory.New(clock.NewDual(clk)), Faults: faults}
		fn(dbtest.NewFixture(t, store, clk), store)
	})
}

func repeat(fault dbtest.Fault, n int) []dbtest.Fault {
	return slices.Repeat([]dbtest.Fault{fault}, n)
}

// rewrite changes the row of "key" behind the back of the verb under test.
func rewrite(b *dbtest.Fixture, store *dbtest.Faulty, value any) {
	w := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "key"}, Value: value, Rev: "another's"}
	if value == nil {
		w.Kind = db.Delete
	}
	store.Store.Write(b.Context(), w, 0)
}

// A verb is one write to "key", whose row is there with the value 1 and the
// revision rev before. It returns whether it was applied.
type verb func(b *dbtest.Fixture, rev string) (applied bool, err error)

var (
	putPlain verb = func(b *dbtest.Fixture, _ string) (bool, error) {
		rev, _, err := b.Users.Put(b.Context(), b.Scope, "key", 2.0, db.PutOptions{})
		return rev != "", err
	}
	putRev verb = func(b *dbtest.Fixture, rev string) (bool, error) {
		rev, _, err := b.Users.Put(b.Context(), b.Scope, "key", 2.0, db.PutOptions{If: db.Condition{Rev: rev}})
		return rev != "", err
	}
	deletePlain verb = func(b *dbtest.Fixture, _ string) (bool, error) {
		ok, _, err := b.Users.Delete(b.Context(), b.Scope, "key", db.Condition{})
		return ok, err
	}
	deleteRev verb = func(b *dbtest.Fixture, rev string) (bool, error) {
		ok, _, err := b.Users.Delete(b.Context(), b.Scope, "key", db.Condition{Rev: rev})
		return ok, err
	}
	addOne verb = func(b *dbtest.Fixture, _ string) (bool, error) {
		sum, ok, _, err := b.Users.Add(b.Context(), b.Scope, "key", 1, db.AddOptions{})
		if ok && sum != 2 {
			b.Errorf("1 + 1 = %v", sum)
		}
		return ok, err
	}
	updateRow verb = func(b *dbtest.Fixture, _ string) (bool, error) {
		row, err := b.Users.Update(b.Context(), b.Scope, "key", func(row *db.Row) (any, error) { return row.Value.(float64) + 1, nil })
		return row != nil, err
	}
	atomicAdd verb = func(b *dbtest.Fixture, _ string) (bool, error) {
		e, err := b.Users.ToAdd("key", 1, db.AddOptions{})
		if err != nil {
			return false, err
		}
		_, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{e})
		return err == nil && failed == nil, err
	}
)

func TestWhatIsRaisedOrReturnedForEachFault(t *testing.T) {
	const (
		lost, dropped, throttled = dbtest.ResponseLost, dbtest.RequestLost, dbtest.Throttled
		conflict, down, denied   = dbtest.Conflict, dbtest.Unreachable, dbtest.Denied
	)
	for _, test := range []struct {
		name   string
		verb   verb
		faults []dbtest.Fault
		// between is what another one makes of the row after the first attempt.
		between  any
		applied  bool
		code     string
		value    any // afterwards
		attempts int
		open     bool // something may still be on its way
	}{
		{name: "a put that is throttled is repeated", verb: putRev, faults: []dbtest.Fault{throttled, throttled}, applied: true, value: 2.0, attempts: 3},
		{name: "a put that meets a transaction is repeated", verb: putRev, faults: []dbtest.Fault{conflict}, applied: true, value: 2.0, attempts: 2},
		{name: "a put that can't be sent is repeated", verb: putRev, faults: repeat(down, 3), applied: true, value: 2.0, attempts: 4},
		{name: "a put is not repeated when it is denied", verb: putRev, faults: []dbtest.Fault{denied}, code: db.CodeUnavailable, value: 1.0, attempts: 1},
		{name: "a put gives up after four attempts, throttled", verb: putRev, faults: repeat(throttled, 9), code: db.CodeThrottled, value: 1.0, attempts: 4},
		{name: "a put gives up after four attempts, down", verb: putRev, faults: repeat(down, 9), code: db.CodeUnavailable, value: 1.0, attempts: 4},
		{name: "a put gives up after four attempts, conflict", verb: putRev, faults: repeat(conflict, 9), code: db.CodeContention, value: 1.0, attempts: 4},

		{name: "a put with a revision knows its own lost write", verb: putRev, faults: []dbtest.Fault{lost}, applied: true, value: 2.0, attempts: 2},
		{name: "a put with a revision that was dropped is repeated", verb: putRev, faults: []dbtest.Fault{dropped}, applied: true, value: 2.0, attempts: 2},
		{name: "a put with a revision is repeated once", verb: putRev, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 2, open: true},
		{name: "a lost put that another one replaced is unknown", verb: putRev, faults: []dbtest.Fault{lost}, between: 7.0, code: db.CodeUnknown, value: 7.0, attempts: 2, open: true},
		{name: "a plain put is repeated, but the first may still come", verb: putPlain, faults: []dbtest.Fault{dropped}, applied: true, value: 2.0, attempts: 2, open: true},
		{name: "a plain put of which nothing is heard is unknown", verb: putPlain, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 4, open: true},
		{name: "an unknown put stays unknown when the next is turned down", verb: putPlain, faults: []dbtest.Fault{dropped, denied}, code: db.CodeUnknown, value: 1.0, attempts: 2, open: true},

		{name: "a plain delete that finds nothing the second time is true", verb: deletePlain, faults: []dbtest.Fault{lost}, applied: true, attempts: 2, open: true},
		{name: "a delete with a revision that finds nothing the second time is unknown", verb: deleteRev, faults: []dbtest.Fault{lost}, code: db.CodeUnknown, attempts: 2, open: true},
		{name: "a delete with a revision that was dropped is repeated", verb: deleteRev, faults: []dbtest.Fault{dropped}, applied: true, attempts: 2},

		{name: "an addition that was lost is looked up", verb: addOne, faults: []dbtest.Fault{lost}, applied: true, value: 2.0, attempts: 2},
		{name: "an addition that was dropped is never sent again", verb: addOne, faults: []dbtest.Fault{dropped}, code: db.CodeUnknown, value: 1.0, attempts: 2, open: true},
		{name: "a lost addition that another one replaced is unknown", verb: addOne, faults: []dbtest.Fault{lost}, between: 7.0, code: db.CodeUnknown, value: 7.0, attempts: 2, open: true},
		{name: "an addition that was turned down is repeated", verb: addOne, faults: []dbtest.Fault{throttled, conflict, down}, applied: true, value: 2.0, attempts: 4},
		{name: "a lost addition that can't be looked up is unknown", verb: addOne, faults: append([]dbtest.Fault{lost}, repeat(down, 9)...), code: db.CodeUnknown, value: 2.0, attempts: 5, open: true},

		{name: "an update knows its own lost write", verb: updateRow, faults: []dbtest.Fault{dbtest.None, lost}, applied: true, value: 2.0, attempts: 3},
		{name: "an update repeats its read", verb: updateRow, faults: []dbtest.Fault{down, throttled}, applied: true, value: 2.0, attempts: 4},

		{name: "a transaction that was lost is applied once", verb: atomicAdd, faults: []dbtest.Fault{lost, lost}, applied: true, value: 2.0, attempts: 3},
		{name: "a transaction that was dropped is repeated", verb: atomicAdd, faults: []dbtest.Fault{dropped, conflict, throttled}, applied: true, value: 2.0, attempts: 4},
		{name: "a transaction of which nothing is heard is unknown", verb: atomicAdd, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 4, open: true},
		{name: "a transaction gives up after four conflicts", verb: atomicAdd, faults: repeat(conflict, 9), code: db.CodeContention, value: 1.0, attempts: 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			faulty(t, nil, func(b *dbtest.Fixture, store *dbtest.Faulty) {
				rev := b.Put("key", 1.0)
				store.Faults, store.Attempts, b.Scope.Spent = test.faults, 0, 0
				if test.between != nil {
					store.Before = func(attempt int) {
						if attempt == 2 {
							rewrite(b, store, test.between)
						}
					}
				}
				applied, err := test.verb(b, rev)
				checkOutcome(b, applied, err, test.applied, test.code, test.open)
				if store.Attempts != test.attempts || b.Scope.Spent != int64(test.attempts) {
					b.Errorf("made %d attempts for %d operations, want %d", store.Attempts, b.Scope.Spent, test.attempts)
				}
				store.Faults, store.Before = nil, nil
				b.WantValue("key", test.value)
			})
		})
	}
}

func checkOutcome(b *dbtest.Fixture, applied bool, err error, wantApplied bool, wantCode string, wantOpen bool) {
	b.Helper()
	if wantCode == "" && err != nil || applied != wantApplied {
		b.Errorf("applied is %v, error %v; want %v, %q", applied, err, wantApplied, wantCode)
	}
	if wantCode != "" {
		e := b.WantCode(err, wantCode)
		want := outcome.AppliedNo
		if wantCode == db.CodeUnknown {
			want = outcome.AppliedUnknown
		}
		if e.Applied != want || e.Key == "" && e.Op != "atomic" || e.Op == "" {
			b.Errorf("the error is %+v, want applied %q, verb and key", e, want)
		}
	}
	if open := b.Scope.InDoubt > 0; open != wantOpen {
		b.Errorf("something may be on its way: %v, want %v", open, wantOpen)
	}
}

func TestAPutOfSomethingNewKnowsItsOwnLostWrite(t *testing.T) {
	faulty(t, []dbtest.Fault{dbtest.ResponseLost}, func(b *dbtest.Fixture, store *dbtest.Faulty) {
		rev := b.PutWith("key", 1.0, db.PutOptions{If: db.Condition{New: true}})
		if got := b.Get("key").Rev; got != rev || b.Scope.InDoubt != 0 {
			b.Errorf("revision is %q and %d writes are unsettled, want %q and none", rev, b.Scope.InDoubt, got)
		}
	})
}

func TestTheAttemptsOfOneTransactionAreTheSame(t *testing.T) {
	faulty(t, []dbtest.Fault{dbtest.ResponseLost, dbtest.Conflict}, func(b *dbtest.Fixture, store *dbtest.Faulty) {
		store.Before = func(int) { b.Clock.Advance(2 * time.Second) }
		for range 2 {
			if _, err := atomicAdd(b, ""); err != nil {
				b.Fatal(err)
			}
		}
		if tokens := store.Tokens; len(tokens) != 4 || tokens[0] != tokens[1] || tokens[1] != tokens[2] || tokens[2] == tokens[3] {
			b.Errorf("tokens are %q, want one for the first three and another", tokens)
		}
		if times := store.Times; times[0] != times[1] || times[1] != times[2] {
			b.Errorf("times are %v, want one for the first three", times)
		}
	})
}

func TestACounterThatHasExpiredStartsAnewWhereAdditionsCannotReplaceIt(t *testing.T) {
	stays := repeat(dbtest.AddMeetsExpired, 9)
	faulty(t, stays, func(b *dbtest.Fixture, store *dbtest.Faulty) {
		for _, key := range []string{"single", "in a transaction"} {
			b.PutWith(key, 100.0, db.PutOptions{TTL: time.Second})
		}
		b.Clock.Advance(time.Minute)
		sum, ok, _, err := b.Users.Add(b.Context(), b.Scope, "single", 5, db.AddOptions{TTL: time.Hour})
		if sum != 5 || !ok || err != nil {
			b.Errorf("add = %v, %v, %v; want 5", sum, ok, err)
		}
		e, err := b.Users.ToAdd("in a transaction", 5, db.AddOptions{TTL: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		if _, failed, err := b.DB.Atomic(b.Context(), b.Scope, "acme", []db.Entry{e}); failed != nil || err != nil {
			b.Errorf("atomic = %v, %v; want none to fail", failed, err)
		}
		b.WantValue("single", 5.0)
		b.WantValue("in a transaction", 5.0)
		if b.Get("single").Expires == 0 || b.Scope.InDoubt != 0 {
			b.Errorf("the counter has no lifetime, or %d writes are unsettled", b.Scope.InDoubt)
		}
	})
}

func TestABatchIsReadToItsEnd(t *testing.T) {
	var keys []string
	for i := range 10 {
		keys = append(keys, fmt.Sprint("key", i))
	}
	for _, test := range []struct {
		name   string
		faults []dbtest.Fault
		spent  int64
	}{
		{"with too much to answer at once", repeat(dbtest.Unreachable, 3), 10 + 5 + 2 + 10*1},
		{"in parts", repeat(dbtest.HalfUnprocessed, 4), 10 + 5 + 2 + 1},
		{"after errors", []dbtest.Fault{dbtest.Unreachable, dbtest.HalfUnprocessed, dbtest.AllUnprocessed, dbtest.Throttled}, 10 + 5 + 5 + 5 + 5 + 2},
	} {
		faulty(t, nil, func(b *dbtest.Fixture, store *dbtest.Faulty) {
			for _, key := range keys[1:] {
				b.Put(key, key)
			}
			store.Faults, b.Scope.Spent = test.faults, 0
			got, err := b.Users.GetMany(b.Context(), b.Scope, keys, false)
			if err != nil || len(got) != 9 || got["key0"] != nil || got["key9"].Value != "key9" {
				b.Errorf("%s: got %d rows, %v; want all 9", test.name, len(got), err)
			}
			if b.Scope.Spent != test.spent {
				b.Errorf("%s: cost %d operations, want %d", test.name, b.Scope.Spent, test.spent)
			}
			store.Faults = append([]dbtest.Fault{dbtest.HalfUnprocessed}, repeat(dbtest.AllUnprocessed, 9)...)
			got, err = b.Users.GetMany(b.Context(), b.Scope, keys, false)
			if b.WantCode(err, db.CodeThrottled); got != nil {
				b.Errorf("%s: a part was returned as the whole", test.name)
			}
		})
	}
}

func TestABudgetThatRunsOutIsRaised(t *testing.T) {
	for _, test := range []struct {
		faults []dbtest.Fault
		left   int64
		verb   verb
		code   string
	}{
		{nil, 0, putRev, db.CodeBudget},
		{repeat(dbtest.Throttled, 9), 2, putRev, db.CodeBudget},
		{repeat(dbtest.RequestLost, 9), 1, putRev, db.CodeUnknown},
		{repeat(dbtest.ResponseLost, 9), 1, addOne, db.CodeUnknown},
		{nil, 1, updateRow, db.CodeBudget},
	} {
		faulty(t, nil, func(b *dbtest.Fixture, store *dbtest.Faulty) {
			rev := b.Put("key", 1.0)
			store.Faults, store.Attempts, b.Scope.Left = test.faults, 0, test.left
			_, err := test.verb(b, rev)
			b.WantCode(err, test.code)
			if store.Attempts != int(test.left) {
				b.Errorf("%d attempts were made of %d", store.Attempts, test.left)
			}
		})
	}
}

func TestNoPauseGoesPastTheEndOfTheRun(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 9), func(b *dbtest.Fixture, store *dbtest.Faulty) {
		b.Scope.Time = 10 * time.Millisecond
		_, err := b.Users.Get(b.Context(), b.Scope, "key", false)
		b.WantCode(err, db.CodeThrottled)
		if store.Attempts != 1 {
			b.Errorf("%d attempts were made, want 1", store.Attempts)
		}
	})
}

func TestPausesAreRandomAndLongerWhenTheStoreIsOverloaded(t *testing.T) {
	for fault, most := range map[dbtest.Fault]time.Duration{dbtest.Unreachable: 25 * time.Millisecond, dbtest.Throttled: 100 * time.Millisecond} {
		faulty(t, nil, func(b *dbtest.Fixture, store *dbtest.Faulty) {
			var longest time.Duration
			for range 90 {
				store.Faults = []dbtest.Fault{fault}
				start := time.Now()
				b.Get("key")
				longest = max(longest, time.Since(start))
			}
			if longest > most || longest < most/2 {
				b.Errorf("the longest of 90 first pauses took %v, want nearly %v", longest, most)
			}
		})
	}
}

func TestAPauseEndsWithTheContext(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 9), func(b *dbtest.Fixture, store *dbtest.Faulty) {
		ctx, cancel := context.WithCancel(b.Context())
		store.Before = func(int) { cancel() }
		_, err := b.Users.Get(ctx, b.Scope, "key", false)
		if err == nil || store.Attempts != 1 {
			b.Errorf("error is %v after %d attempts, want one after 1", err, store.Attempts)
		}
	})
}

func TestAnAttemptTakesASecondAndAHalfAtMost(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{0: 1500 * time.Millisecond, time.Second: time.Second, time.Hour: 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &silent{}
			b := dbtest.NewFixture(t, store, dbtest.NewClock())
			b.Scope.Left, b.Scope.Time = 1, left
			if _, err := b.Users.Get(b.Context(), b.Scope, "key", false); err == nil || store.waited != want {
				t.Errorf("with %v left, an attempt took %v (%v), want %v", left, store.waited, err, want)
			}
		})
	}
}

// silent is a store that never answers.
type silent struct {
	db.Store
	waited time.Duration
}

func (s *silent) Get(ctx context.Context, _ db.Key, _ bool) (answer db.RowResult) {
	start := time.Now()
	<-ctx.Done()
	s.waited = time.Since(start)
	answer.Outcome, answer.Err = outcome.NotApplied, ctx.Err()
	return answer
}

func TestOneTenantsTroubleLeavesAnotherItsRepetitions(t *testing.T) {
	faulty(t, nil, func(b *dbtest.Fixture, store *dbtest.Faulty) {
		for range 60 {
			store.Faults = repeat(dbtest.Throttled, 4)
			b.Users.Get(b.Context(), &dbtest.RunScope{Left: 4, Time: time.Hour}, "key", false)
		}
		store.Faults, store.Attempts = repeat(dbtest.Unreachable, 1), 0
		_, err := b.Users.Get(b.Context(), b.Scope, "key", false)
		if b.WantCode(err, db.CodeUnavailable); store.Attempts != 1 {
			b.Errorf("the troubled tenant had %d attempts, want 1", store.Attempts)
		}
		store.Faults = repeat(dbtest.Unreachable, 1)
		if _, err := b.Partition("other", "users").Get(b.Context(), b.Scope, "key", false); err != nil {
			b.Errorf("another tenant's request was not repeated: %v", err)
		}
		b.Clock.Advance(time.Minute)
		store.Faults = repeat(dbtest.Unreachable, 1)
		if _, err := b.Users.Get(b.Context(), b.Scope, "key", false); err != nil {
			b.Errorf("the tenant's repetitions did not come back: %v", err)
		}
	})
}

func TestScriptsSeeNothingOfWhatAnEngineSays(t *testing.T) {
	faulty(t, repeat(dbtest.Unreachable, 9), func(b *dbtest.Fixture, _ *dbtest.Faulty) {
		_, err := b.Users.Get(b.Context(), b.Scope, "key", false)
		e := b.WantCode(err, db.CodeUnavailable)
		if want := "db_unavailable in get: the store can't be reached"; e.Error() != want || errors.Unwrap(e) == nil || !e.Retryable {
			b.Errorf("error is %q with cause %v, want %q and the cause", e, errors.Unwrap(e), want)
		}
	})
}

func TestEveryAttemptIsShownToTheObserver(t *testing.T) {
	clk := dbtest.NewClock()
	dual := clock.NewDual(clk)
	var seen []outcome.Outcome
	store := &dbtest.Faulty{Store: memory.New(dual), Faults: []dbtest.Fault{dbtest.Unreachable}}
	d := db.New(store, dual, func(a outcome.Attempt) { seen = append(seen, a.Outcome) })
	p, err := d.Open("acme", "users")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(t.Context(), &dbtest.RunScope{Left: 9}, "key", false); err != nil {
		t.Fatal(err)
	}
	if want := []outcome.Outcome{outcome.NotApplied, outcome.Applied}; !slices.Equal(seen, want) {
		t.Errorf("the observer saw %v, want %v", seen, want)
	}
}
