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

// faulty runs fn in fake time, with a fixture over a store that injects faults.
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

// rewrite changes the row of "key" while the operation under test runs.
func rewrite(f *dbtest.Fixture, store *dbtest.Faulty, value any) {
	w := db.Write{Kind: db.Put, Key: db.Key{Partition: "acme/users", Key: "key"}, Value: value, Rev: "another's"}
	if value == nil {
		w.Kind = db.Delete
	}
	store.Store.Write(f.Context(), w, 0)
}

// An op is one write to "key", whose row is there with the value 1 and the
// revision rev before. It returns whether it was applied.
type op func(f *dbtest.Fixture, rev string) (applied bool, err error)

var (
	putPlain op = func(f *dbtest.Fixture, _ string) (bool, error) {
		rev, _, err := f.Users.Put(f.Context(), f.Scope, "key", 2.0, db.PutOptions{})
		return rev != "", err
	}
	putRev op = func(f *dbtest.Fixture, rev string) (bool, error) {
		rev, _, err := f.Users.Put(f.Context(), f.Scope, "key", 2.0, db.PutOptions{If: db.Condition{Rev: rev}})
		return rev != "", err
	}
	deletePlain op = func(f *dbtest.Fixture, _ string) (bool, error) {
		ok, _, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{})
		return ok, err
	}
	deleteRev op = func(f *dbtest.Fixture, rev string) (bool, error) {
		ok, _, err := f.Users.Delete(f.Context(), f.Scope, "key", db.Condition{Rev: rev})
		return ok, err
	}
	addOne op = func(f *dbtest.Fixture, _ string) (bool, error) {
		result, err := f.Users.Add(f.Context(), f.Scope, "key", 1, db.AddOptions{})
		if result.Applied && result.Sum != 2 {
			f.Errorf("1 + 1 = %v", result.Sum)
		}
		return result.Applied, err
	}
	updateRow op = func(f *dbtest.Fixture, _ string) (bool, error) {
		row, err := f.Users.Update(f.Context(), f.Scope, "key", func(row *db.Row) (any, error) { return row.Value.(float64) + 1, nil })
		return row != nil, err
	}
	atomicAdd op = func(f *dbtest.Fixture, _ string) (bool, error) {
		e, err := f.Users.ToAdd("key", 1, db.AddOptions{})
		if err != nil {
			return false, err
		}
		_, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{e})
		return err == nil && failed == nil, err
	}
)

func TestWriteUnderEachFault(t *testing.T) {
	const (
		lost, dropped, throttled = dbtest.ResponseLost, dbtest.RequestLost, dbtest.Throttled
		conflict, down, denied   = dbtest.Conflict, dbtest.Unreachable, dbtest.Denied
		cut, cutNo, cutFailure   = dbtest.SuccessCut, dbtest.RejectionCut, dbtest.FailureCut
		foreign                  = dbtest.Foreign
	)
	for _, test := range []struct {
		name   string
		op     op
		faults []dbtest.Fault
		// between is what another write makes of the row after the first attempt.
		between  any
		applied  bool
		code     string
		value    any // afterwards
		attempts int
		inDoubt  bool // an attempt may still take effect
	}{
		{name: "a throttled put is repeated", op: putRev, faults: []dbtest.Fault{throttled, throttled}, applied: true, value: 2.0, attempts: 3},
		{name: "a put that meets a transaction is repeated", op: putRev, faults: []dbtest.Fault{conflict}, applied: true, value: 2.0, attempts: 2},
		{name: "a put that can't be sent is repeated", op: putRev, faults: repeat(down, 3), applied: true, value: 2.0, attempts: 4},
		{name: "a put is not repeated when it is denied", op: putRev, faults: []dbtest.Fault{denied}, code: db.CodeUnavailable, value: 1.0, attempts: 1},
		{name: "a put gives up after four attempts, throttled", op: putRev, faults: repeat(throttled, 9), code: db.CodeThrottled, value: 1.0, attempts: 4},
		{name: "a put gives up after four attempts, down", op: putRev, faults: repeat(down, 9), code: db.CodeUnavailable, value: 1.0, attempts: 4},
		{name: "a put gives up after four attempts, conflict", op: putRev, faults: repeat(conflict, 9), code: db.CodeContention, value: 1.0, attempts: 4},

		{name: "a put with a revision recognises its own lost write", op: putRev, faults: []dbtest.Fault{lost}, applied: true, value: 2.0, attempts: 2},
		{name: "a put with a revision whose request was lost is repeated", op: putRev, faults: []dbtest.Fault{dropped}, applied: true, value: 2.0, attempts: 2},
		{name: "a put with a revision is repeated once", op: putRev, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 2, inDoubt: true},
		{name: "a lost put that another write replaced is unknown", op: putRev, faults: []dbtest.Fault{lost}, between: 7.0, code: db.CodeUnknown, value: 7.0, attempts: 2, inDoubt: true},
		{name: "a plain put is repeated, but the first attempt is in doubt", op: putPlain, faults: []dbtest.Fault{dropped}, applied: true, value: 2.0, attempts: 2, inDoubt: true},
		{name: "a plain put of which every request is lost is unknown", op: putPlain, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 4, inDoubt: true},
		{name: "an unknown put stays unknown when the next attempt is rejected", op: putPlain, faults: []dbtest.Fault{dropped, denied}, code: db.CodeUnknown, value: 1.0, attempts: 2, inDoubt: true},

		{name: "a put whose rejection breaks off is repeated", op: putRev, faults: repeat(cutNo, 3), applied: true, value: 2.0, attempts: 4},
		{name: "a put gives up after four rejections that break off", op: putRev, faults: repeat(cutNo, 9), code: db.CodeUnavailable, value: 1.0, attempts: 4},
		{name: "a put with a revision recognises itself after a success that breaks off", op: putRev, faults: []dbtest.Fault{cut}, applied: true, value: 2.0, attempts: 2},
		{name: "a put to something else is unknown", op: putRev, faults: repeat(foreign, 9), code: db.CodeUnknown, value: 1.0, attempts: 2, inDoubt: true},
		{name: "a plain put to something else is unknown", op: putPlain, faults: repeat(foreign, 9), code: db.CodeUnknown, value: 1.0, attempts: 4, inDoubt: true},
		{name: "a delete after a failure that breaks off is repeated", op: deleteRev, faults: []dbtest.Fault{cutFailure}, applied: true, attempts: 2},
		{name: "an addition whose rejection breaks off is repeated", op: addOne, faults: repeat(cutNo, 2), applied: true, value: 2.0, attempts: 3},
		{name: "an addition to something else is never sent again", op: addOne, faults: []dbtest.Fault{foreign}, code: db.CodeUnknown, value: 1.0, attempts: 2, inDoubt: true},
		{name: "an addition whose success breaks off is looked up", op: addOne, faults: []dbtest.Fault{cut}, applied: true, value: 2.0, attempts: 2},
		{name: "an update whose read is answered by something else", op: updateRow, faults: []dbtest.Fault{foreign, cutNo, cutFailure}, applied: true, value: 2.0, attempts: 5},
		{name: "a transaction after broken answers is applied once", op: atomicAdd, faults: []dbtest.Fault{cut, cutNo, foreign}, applied: true, value: 2.0, attempts: 4},

		{name: "a plain delete that finds nothing the second time is true", op: deletePlain, faults: []dbtest.Fault{lost}, applied: true, attempts: 2, inDoubt: true},
		{name: "a delete with a revision that finds nothing the second time is unknown", op: deleteRev, faults: []dbtest.Fault{lost}, code: db.CodeUnknown, attempts: 2, inDoubt: true},
		{name: "a delete with a revision whose request was lost is repeated", op: deleteRev, faults: []dbtest.Fault{dropped}, applied: true, attempts: 2},

		{name: "an addition that was lost is looked up", op: addOne, faults: []dbtest.Fault{lost}, applied: true, value: 2.0, attempts: 2},
		{name: "an addition whose request was lost is never sent again", op: addOne, faults: []dbtest.Fault{dropped}, code: db.CodeUnknown, value: 1.0, attempts: 2, inDoubt: true},
		{name: "a lost addition that another write replaced is unknown", op: addOne, faults: []dbtest.Fault{lost}, between: 7.0, code: db.CodeUnknown, value: 7.0, attempts: 2, inDoubt: true},
		{name: "an addition that was rejected is repeated", op: addOne, faults: []dbtest.Fault{throttled, conflict, down}, applied: true, value: 2.0, attempts: 4},
		{name: "a lost addition that can't be looked up is unknown", op: addOne, faults: append([]dbtest.Fault{lost}, repeat(down, 9)...), code: db.CodeUnknown, value: 2.0, attempts: 5, inDoubt: true},

		{name: "an update recognises its own lost write", op: updateRow, faults: []dbtest.Fault{dbtest.None, lost}, applied: true, value: 2.0, attempts: 3},
		{name: "an update repeats its read", op: updateRow, faults: []dbtest.Fault{down, throttled}, applied: true, value: 2.0, attempts: 4},

		{name: "a transaction that was lost is applied once", op: atomicAdd, faults: []dbtest.Fault{lost, lost}, applied: true, value: 2.0, attempts: 3},
		{name: "a transaction whose request was lost is repeated", op: atomicAdd, faults: []dbtest.Fault{dropped, conflict, throttled}, applied: true, value: 2.0, attempts: 4},
		{name: "a transaction of which every request is lost is unknown", op: atomicAdd, faults: repeat(dropped, 9), code: db.CodeUnknown, value: 1.0, attempts: 4, inDoubt: true},
		{name: "a transaction gives up after four conflicts", op: atomicAdd, faults: repeat(conflict, 9), code: db.CodeContention, value: 1.0, attempts: 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
				rev := f.Put("key", 1.0)
				store.Faults, store.Attempts, f.Scope.Spent = test.faults, 0, 0
				if test.between != nil {
					store.Before = func(attempt int) {
						if attempt == 2 {
							rewrite(f, store, test.between)
						}
					}
				}
				applied, err := test.op(f, rev)
				checkOutcome(f, applied, err, test.applied, test.code, test.inDoubt)
				if store.Attempts != test.attempts || f.Scope.Spent != int64(test.attempts) {
					f.Errorf("made %d attempts for %d operations, want %d", store.Attempts, f.Scope.Spent, test.attempts)
				}
				store.Faults, store.Before = nil, nil
				f.WantValue("key", test.value)
			})
		})
	}
}

func checkOutcome(f *dbtest.Fixture, applied bool, err error, wantApplied bool, wantCode string, wantInDoubt bool) {
	f.Helper()
	if wantCode == "" && err != nil || applied != wantApplied {
		f.Errorf("applied is %v, error %v; want %v, %q", applied, err, wantApplied, wantCode)
	}
	if wantCode != "" {
		e := f.WantCode(err, wantCode)
		want := outcome.AppliedNo
		if wantCode == db.CodeUnknown {
			want = outcome.AppliedUnknown
		}
		if e.Applied != want || e.Key == "" && e.Op != "atomic" || e.Op == "" {
			f.Errorf("the error is %+v, want applied %q, op and key", e, want)
		}
	}
	if inDoubt := f.Scope.InDoubt > 0; inDoubt != wantInDoubt {
		f.Errorf("an attempt is in doubt: %v, want %v", inDoubt, wantInDoubt)
	}
}

func TestPutOfANewRowRecognisesItsLostWrite(t *testing.T) {
	faulty(t, []dbtest.Fault{dbtest.ResponseLost}, func(f *dbtest.Fixture, store *dbtest.Faulty) {
		rev := f.PutWith("key", 1.0, db.PutOptions{If: db.Condition{New: true}})
		if got := f.Get("key").Rev; got != rev || f.Scope.InDoubt != 0 {
			f.Errorf("revision is %q and %d writes are in doubt, want %q and none", rev, f.Scope.InDoubt, got)
		}
	})
}

func TestAtomicKeepsTokenAndTimeOverItsAttempts(t *testing.T) {
	faulty(t, []dbtest.Fault{dbtest.ResponseLost, dbtest.Conflict}, func(f *dbtest.Fixture, store *dbtest.Faulty) {
		store.Before = func(int) { f.Clock.Advance(2 * time.Second) }
		for range 2 {
			if _, err := atomicAdd(f, ""); err != nil {
				f.Fatal(err)
			}
		}
		if tokens := store.Tokens; len(tokens) != 4 || tokens[0] != tokens[1] || tokens[1] != tokens[2] || tokens[2] == tokens[3] {
			f.Errorf("tokens are %q, want one for the first three and another", tokens)
		}
		if times := store.Times; times[0] != times[1] || times[1] != times[2] {
			f.Errorf("times are %v, want one for the first three", times)
		}
	})
}

func TestAddReplacesAnExpiredCounter(t *testing.T) {
	stays := repeat(dbtest.AddMeetsExpired, 9)
	faulty(t, stays, func(f *dbtest.Fixture, store *dbtest.Faulty) {
		for _, key := range []string{"single", "in a transaction"} {
			f.PutWith(key, 100.0, db.PutOptions{TTL: time.Second})
		}
		f.Clock.Advance(time.Minute)
		result, err := f.Users.Add(f.Context(), f.Scope, "single", 5, db.AddOptions{TTL: time.Hour})
		if result.Sum != 5 || !result.Applied || err != nil {
			f.Errorf("add = %+v, %v; want 5", result, err)
		}
		e, err := f.Users.ToAdd("in a transaction", 5, db.AddOptions{TTL: time.Hour})
		if err != nil {
			f.Fatal(err)
		}
		if _, failed, err := f.DB.Atomic(f.Context(), f.Scope, "acme", []db.Entry{e}); failed != nil || err != nil {
			f.Errorf("atomic = %v, %v; want none to fail", failed, err)
		}
		f.WantValue("single", 5.0)
		f.WantValue("in a transaction", 5.0)
		if f.Get("single").Expires == 0 || f.Scope.InDoubt != 0 {
			f.Errorf("the counter has no lifetime, or %d writes are in doubt", f.Scope.InDoubt)
		}
	})
}

func TestGetManyReadsAllKeys(t *testing.T) {
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
		faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
			for _, key := range keys[1:] {
				f.Put(key, key)
			}
			store.Faults, f.Scope.Spent = test.faults, 0
			got, err := f.Users.GetMany(f.Context(), f.Scope, keys, false)
			if err != nil || len(got) != 9 || got["key0"] != nil || got["key9"].Value != "key9" {
				f.Errorf("%s: got %d rows, %v; want all 9", test.name, len(got), err)
			}
			if f.Scope.Spent != test.spent {
				f.Errorf("%s: cost %d operations, want %d", test.name, f.Scope.Spent, test.spent)
			}
			store.Faults = append([]dbtest.Fault{dbtest.HalfUnprocessed}, repeat(dbtest.AllUnprocessed, 9)...)
			got, err = f.Users.GetMany(f.Context(), f.Scope, keys, false)
			if f.WantCode(err, db.CodeThrottled); got != nil {
				f.Errorf("%s: a part was returned as the whole", test.name)
			}
		})
	}
}

func TestBudgetThatRunsOutIsRaised(t *testing.T) {
	for _, test := range []struct {
		faults []dbtest.Fault
		left   int64
		op     op
		code   string
	}{
		{nil, 0, putRev, db.CodeBudget},
		{repeat(dbtest.Throttled, 9), 2, putRev, db.CodeBudget},
		{repeat(dbtest.RequestLost, 9), 1, putRev, db.CodeUnknown},
		{repeat(dbtest.ResponseLost, 9), 1, addOne, db.CodeUnknown},
		{nil, 1, updateRow, db.CodeBudget},
	} {
		faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
			rev := f.Put("key", 1.0)
			store.Faults, store.Attempts, f.Scope.Left = test.faults, 0, test.left
			_, err := test.op(f, rev)
			f.WantCode(err, test.code)
			if store.Attempts != int(test.left) {
				f.Errorf("%d attempts were made of %d", store.Attempts, test.left)
			}
		})
	}
}

func TestPauseNeverGoesPastTheDeadline(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 9), func(f *dbtest.Fixture, store *dbtest.Faulty) {
		f.Scope.Time = 10 * time.Millisecond
		_, err := f.Users.Get(f.Context(), f.Scope, "key", false)
		f.WantCode(err, db.CodeThrottled)
		if store.Attempts != 1 {
			f.Errorf("%d attempts were made, want 1", store.Attempts)
		}
	})
}

func TestPausesAreRandomAndLongerWhenThrottled(t *testing.T) {
	for fault, most := range map[dbtest.Fault]time.Duration{dbtest.Unreachable: 25 * time.Millisecond, dbtest.Throttled: 100 * time.Millisecond} {
		faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
			var longest time.Duration
			for range 90 {
				store.Faults = []dbtest.Fault{fault}
				start := time.Now()
				f.Get("key")
				longest = max(longest, time.Since(start))
			}
			if longest > most || longest < most/2 {
				f.Errorf("the longest of 90 first pauses took %v, want nearly %v", longest, most)
			}
		})
	}
}

func TestPauseEndsWithTheContext(t *testing.T) {
	faulty(t, repeat(dbtest.Throttled, 9), func(f *dbtest.Fixture, store *dbtest.Faulty) {
		ctx, cancel := context.WithCancel(f.Context())
		store.Before = func(int) { cancel() }
		_, err := f.Users.Get(ctx, f.Scope, "key", false)
		if err == nil || store.Attempts != 1 {
			f.Errorf("error is %v after %d attempts, want one after 1", err, store.Attempts)
		}
	})
}

func TestAttemptHasATimeLimit(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{0: 1500 * time.Millisecond, time.Second: time.Second, time.Hour: 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &silent{}
			f := dbtest.NewFixture(t, store, dbtest.NewClock())
			f.Scope.Left, f.Scope.Time = 1, left
			if _, err := f.Users.Get(f.Context(), f.Scope, "key", false); err == nil || store.waited != want {
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

func (s *silent) Get(ctx context.Context, _ db.Key, _ bool) (result db.RowResult) {
	start := time.Now()
	<-ctx.Done()
	s.waited = time.Since(start)
	result.Outcome, result.Err = outcome.NotApplied, ctx.Err()
	return result
}

func TestQuotaOfOneTenantLeavesOthersTheirs(t *testing.T) {
	faulty(t, nil, func(f *dbtest.Fixture, store *dbtest.Faulty) {
		for range 60 {
			store.Faults = repeat(dbtest.Throttled, 4)
			f.Users.Get(f.Context(), &dbtest.RunScope{Left: 4, Time: time.Hour}, "key", false)
		}
		store.Faults, store.Attempts = repeat(dbtest.Unreachable, 1), 0
		_, err := f.Users.Get(f.Context(), f.Scope, "key", false)
		if f.WantCode(err, db.CodeUnavailable); store.Attempts != 1 {
			f.Errorf("the tenant had %d attempts, want 1", store.Attempts)
		}
		store.Faults = repeat(dbtest.Unreachable, 1)
		if _, err := f.Partition("other", "users").Get(f.Context(), f.Scope, "key", false); err != nil {
			f.Errorf("another tenant's request was not repeated: %v", err)
		}
		f.Clock.Advance(time.Minute)
		store.Faults = repeat(dbtest.Unreachable, 1)
		if _, err := f.Users.Get(f.Context(), f.Scope, "key", false); err != nil {
			f.Errorf("the tenant's repetitions did not come back: %v", err)
		}
	})
}

func TestErrorsHideTheEnginesCause(t *testing.T) {
	faulty(t, repeat(dbtest.Unreachable, 9), func(f *dbtest.Fixture, _ *dbtest.Faulty) {
		_, err := f.Users.Get(f.Context(), f.Scope, "key", false)
		e := f.WantCode(err, db.CodeUnavailable)
		if want := "db_unavailable in get: the store can't be reached"; e.Error() != want || errors.Unwrap(e) == nil || !e.Retryable {
			f.Errorf("error is %q with cause %v, want %q and the cause", e, errors.Unwrap(e), want)
		}
	})
}

func TestObserverSeesEveryAttempt(t *testing.T) {
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
