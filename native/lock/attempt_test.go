package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// bubble runs test in fake time, against an empty table that takes 10 ms per
// request.
func bubble(t *testing.T, test func(t *testing.T, s *locktest.Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := locktest.NewService(nil)
		s.Latency = 10 * time.Millisecond
		test(t, s)
	})
}

func TestAnUncontendedLockCostsOnePutAndOneDelete(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete") // the first asks for the time
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete", "put", "delete")
		checkNoRows(t, s)
		checkReleased(t, p, lock.Freed, lock.Freed)
	})
}

func TestNoPutGoesOutBeforeTheTablesTimeIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.Lost})
		p.fails(t, "db_unavailable")
		checkOps(t, s, "delete")

		p.acquire(t, wait(time.Second)).Release(t.Context())
		first := s.Requests()[1]
		if put := s.Requests("put")[0]; first.Op != "delete" || first.Owner == put.Owner {
			t.Errorf("got first request %+v, want a delete by an owner that nobody has", first)
		}
	})
}

func TestATimeThatIsKnownTooBadlyIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		time.Sleep(time.Hour) // 1.8 s more on each side
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete")

		p.machine.Step(time.Minute) // the hands are a minute apart
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete", "delete", "put", "delete")
	})
}

// A single answer tells the time well enough if it takes half a second at most.
func TestASlowFirstAnswerDoesNotFailACallThatHasTime(t *testing.T) {
	slow := func(d time.Duration) locktest.Fault { return locktest.Fault{After: d} }
	for _, test := range []struct {
		name     string
		delays   []locktest.Fault // of the questions
		acquired bool
		requests []string
	}{
		{"at once", nil, true, []string{"delete", "put"}},
		{"half a second", []locktest.Fault{slow(480 * time.Millisecond)}, true, []string{"delete", "put"}},
		{"more than that", []locktest.Fault{slow(600 * time.Millisecond)}, true, []string{"delete", "delete", "put"}},
		{"nearly all the time of an attempt", []locktest.Fault{slow(1400 * time.Millisecond)}, true, []string{"delete", "delete", "put"}},
		{"more than an attempt may take", []locktest.Fault{slow(1600 * time.Millisecond)}, false, []string{"delete"}},
		{"twice slow, which together is enough", []locktest.Fault{slow(600 * time.Millisecond), slow(600 * time.Millisecond)}, true, []string{"delete", "delete", "put"}},
		{"the second lost", []locktest.Fault{slow(600 * time.Millisecond), {Kind: locktest.Lost}}, false, []string{"delete", "delete"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				p.table.Fault = faults("delete", test.delays...)
				if test.acquired {
					p.acquire(t)
				} else if d := took(func() { p.fails(t, "db_unavailable") }); d > 1500*time.Millisecond {
					t.Errorf("the call took %v, want an attempt's time at most", d)
				}
				checkOps(t, s, test.requests...)
			})
		})
	}
}

func TestAQuestionWhoseAnswerIsLostIsAskedAgainWhileTheWaitLasts(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.AnswerLost})
		p.acquire(t, wait(time.Second)).Release(t.Context())
		checkOps(t, s, "delete", "delete", "put", "delete")
	})
}

func TestALostQuestionIsTroubleThoughAnotherCallLearnedTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := locktest.NewService(nil)
		p := start(t, s, 0)
		p.table.Fault = func(r locktest.Request) (f locktest.Fault) {
			if r.Key == theLock {
				f = locktest.Fault{Kind: locktest.Lost, After: 5 * time.Second}
			}
			return f
		}
		go func() {
			time.Sleep(400 * time.Millisecond)
			p.knowTime(t)
		}()
		p.fails(t, "db_unavailable", lease(time.Second), wait(900*time.Millisecond))
		checkOps(t, s, "delete")
	})
}

func TestAStoredPutWhoseAnswerIsLostIsRecognised(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.AnswerLost})
		l := p.acquire(t, wait(time.Second))
		if l.Row != s.Rows()[0] {
			t.Errorf("got row %+v, want the stored one, %+v", l.Row, s.Rows()[0])
		}
		l.Release(t.Context())
		checkOps(t, s, "put", "put", "delete")
		checkNoRows(t, s)
		if p.healed != 1 {
			t.Errorf("got %d healed requests, want 1", p.healed)
		}
	})
}

func TestEveryCallHasAnOwnerOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.acquire(t) // never released: as after a crash of this call alone
		p2 := start(t, s, 0)
		p2.refused(t)
		p2.refused(t)
		owners := map[string]bool{}
		for _, put := range s.Requests("put") {
			owners[put.Owner] = true
			if len(put.Owner) != 32 {
				t.Errorf("got owner %q, want 32 hexadecimal digits", put.Owner)
			}
		}
		if len(owners) != 3 {
			t.Errorf("got %d owners in three calls, want 3", len(owners))
		}
	})
}

func TestGivingUpDeletesAPutOfUnknownOutcome(t *testing.T) {
	for name, fate := range map[string]locktest.FaultKind{"stored": locktest.AnswerLost, "not stored": locktest.Lost} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				p.knowTime(t)
				p.table.Fault = faults("put", locktest.Fault{Kind: fate})
				err := p.fails(t, "db_unavailable")
				if err.Op != "lock" || err.Key != theLock.Name {
					t.Errorf("got op %q and key %q, want lock and %q", err.Op, err.Key, theLock.Name)
				}
				checkOps(t, s, "put", "delete")
				checkNoRows(t, s)
				if sent := s.Requests(); sent[len(sent)-1].Owner != sent[len(sent)-2].Owner {
					t.Error("the delete is not by the owner of the put")
				}
			})
		})
	}
}

func TestARefusalSendsNoDelete(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		p.knowTime(t)
		before := len(ops(s))
		p.refused(t, wait(3*time.Second))
		for _, op := range ops(s)[before:] {
			if op != "put" {
				t.Errorf("got a %s after refusals, want puts only", op)
			}
		}
	})
}

func TestAPutThatLandsAfterItsCallGaveUpRunsOutByItself(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Late, After: time.Second})
		asked := time.Now()
		p.fails(t, "db_unavailable")
		time.Sleep(2 * time.Second)
		if len(s.Rows()) != 1 {
			t.Fatalf("got %d rows, want the late one", len(s.Rows()))
		}
		p.acquire(t, turn, lease(time.Minute))
		if got, bound := time.Since(asked), 30*time.Second+lock.DefaultGuard+4*time.Second; got > bound {
			t.Errorf("the lock was free after %v, want at most %v", got, bound)
		}
	})
}

func TestTroubleThatWaitingCannotCureIsRaisedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = func(locktest.Request) locktest.Fault { return locktest.Fault{Kind: locktest.NoTable} }
		for _, change := range []func(*lock.Request){turn, wait(20 * time.Second)} {
			if d := took(func() { p.fails(t, "db_unavailable", change) }); d > time.Second {
				t.Errorf("raised after %v, want at once", d)
			}
		}
		checkOps(t, s, "delete", "put") // the refusal of the first has told the time
	})
}

func TestAnUnreachableTableEndsWithAnErrorSoonAfterTheWait(t *testing.T) {
	for name, fault := range map[string]locktest.Fault{
		"refused connection": {Kind: locktest.Unreachable},
		"silence":            {Kind: locktest.Lost, After: time.Hour},
		"throttled":          {Kind: locktest.Throttled},
	} {
		for what, knows := range map[string]bool{"time known": true, "time not known": false} {
			t.Run(name+", "+what, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *locktest.Service) {
					p := start(t, s, 0)
					if knows {
						p.knowTime(t)
					}
					p.table.Fault = func(locktest.Request) locktest.Fault { return fault }
					d := took(func() {
						_, err := p.locks.Acquire(t.Context(), request(wait(5*time.Second)))
						if _, ok := errors.AsType[*outcome.Error](err); !ok {
							t.Errorf("got error %v, want one of native.db", err)
						}
					})
					if most := 5*time.Second + 1500*time.Millisecond + 2*time.Second; d > most || d < 4*time.Second {
						t.Errorf("ended after %v, want 4 s to %v", d, most)
					}
				})
			})
		}
	}
}

func TestTheBudgetIsSpentByPutsAndItsEndLeavesNoRow(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		budget, usedUp := 3, errors.New("used up")
		p.table.Fault = func(r locktest.Request) locktest.Fault {
			if r.Op == "put" {
				return locktest.Fault{Kind: locktest.Late, After: time.Millisecond}
			}
			return locktest.Fault{}
		}
		_, err := p.locks.Acquire(t.Context(), request(turn, func(r *lock.Request) {
			r.Poll = time.Millisecond
			r.Spend = func() error {
				if budget--; budget < 0 {
					return usedUp
				}
				return nil
			}
			// Nothing is ever answered, so asking goes on until the budget's end.
			p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.Lost})
		}))
		if !errors.Is(err, usedUp) {
			t.Errorf("got error %v, want the budget's", err)
		}
		checkOps(t, s, "delete", "put", "put", "put", "delete")
		checkNoRows(t, s)
	})
}

func TestARunThatEndsWhileWaitingRaisesItsOwnErrorAndLeavesNoRow(t *testing.T) {
	ended := errors.New("the run is over")
	t.Run("in a pause", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			holder := start(t, s, 0).acquire(t)
			p := start(t, s, 0)
			_, err := p.locks.Acquire(cancelAfter(t, 3*time.Second, ended), request(turn))
			if err != ended {
				t.Errorf("got error %v, want the run's", err)
			}
			holder.Release(t.Context())
			checkNoRows(t, s)
		})
	})
	t.Run("with a put on the way", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := start(t, s, 0)
			p.knowTime(t)
			s.Latency = time.Second
			_, err := p.locks.Acquire(cancelAfter(t, 700*time.Millisecond, ended), request(turn))
			if err != ended {
				t.Errorf("got error %v, want the run's", err)
			}
			checkOps(t, s, "put", "delete")
			checkNoRows(t, s)
		})
	})
	t.Run("in the instant of success", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := start(t, s, 0)
			p.knowTime(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			p.locks = withTable(t, p, doneAfterPut{p.table, func() { cancel(ended) }})
			l, err := p.locks.Acquire(ctx, request())
			if l != nil || err != ended {
				t.Errorf("got lease %v and error %v, want the run's error", l, err)
			}
			checkNoRows(t, s)
		})
	})
}

// doneAfterPut is a table that does something once a put has been answered.
type doneAfterPut struct {
	lock.Table
	do func()
}

func (d doneAfterPut) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	defer d.do()
	return d.Table.PutLock(ctx, row, now)
}

// withTable returns locks of the same process on another table.
func withTable(t *testing.T, p *process, table lock.Table) *lock.Locks {
	t.Helper()
	locks, err := lock.New(p.clock, table, p.time, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func TestAnAttemptThatSucceedsAfterTheLeaseIsFreedAndNotAcquired(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = func(r locktest.Request) locktest.Fault {
			if r.Op == "put" {
				p.machine.Step(30 * time.Second)
			}
			return locktest.Fault{}
		}
		p.refused(t, wait(10*time.Second))
		checkOps(t, s, "put", "delete")
		checkNoRows(t, s)
	})
}

func TestAnAttemptThatSucceedsAfterTheWaitIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{After: time.Second})
		p.acquire(t, wait(100*time.Millisecond)).Release(t.Context())
	})
}

func TestNoAttemptStartsAfterTheWaitAndOneStartsRightBeforeItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		p.knowTime(t)
		asked := time.Now()
		p.refused(t, wait(5*time.Second))
		puts := s.Requests("put")
		last := puts[len(puts)-1].At.Sub(asked)
		if last > 5*time.Second || last < 4990*time.Millisecond {
			t.Errorf("the last attempt started %v after asking, want just before 5 s", last)
		}
	})
}

func TestNoAttemptStartsOnceAClockSaysThatTheWaitIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		stepped := time.Now().Add(2 * time.Second)
		time.AfterFunc(2*time.Second, func() { p.machine.Step(4 * time.Second) })
		p.refused(t, wait(5*time.Second))
		puts := s.Requests("put")
		if last := puts[len(puts)-1].At; last.After(stepped) {
			t.Errorf("an attempt started %v after the end of the wait", last.Sub(stepped))
		}
	})
}

func TestAWaitNeverGoesOnPastTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		d := took(func() { p.refused(t, lease(2*time.Second), wait(time.Hour)) })
		if d > 2*time.Second {
			t.Errorf("waited for %v, want 2 s", d)
		}
		if len(p.warned) != 1 {
			t.Errorf("got warnings %q, want one", p.warned)
		}
	})
}

func TestAnExpiredRowIsTakenByOnePutWithoutWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		s.Store(lock.Row{Key: theLock, Owner: "crashed", Until: lock.UnixMilli(time.Now().Add(-2 * time.Second).UnixMilli())})
		p := start(t, s, 0)
		p.knowTime(t)
		p.acquire(t)
		checkOps(t, s, "put")
	})
}

func TestACrashedHoldersLockIsFreeWhenItsRowHasRunOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		crashed := start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		for range 20 { // time is known best after many answers
			p.refused(t)
			time.Sleep(100 * time.Millisecond)
		}
		l := p.acquire(t, turn)
		until := crashed.Row.Until.Time()
		puts := s.Requests("put")
		before, last := puts[len(puts)-2], puts[len(puts)-1]
		// An answer may show that the row has run out already: no pause then.
		atOnce := last.At.Sub(before.At) == s.Latency
		if last.Now < crashed.Row.Until || last.Now > crashed.Row.Until && !atOnce {
			t.Errorf("got :now %v, want the until of the row, %v", last.Now, crashed.Row.Until)
		}
		if late := last.At.Sub(until); late < 0 || late > lock.DefaultGuard {
			t.Errorf("the row was taken %v after it ran out, want 0 to 2 s", late)
		}
		l.Release(t.Context())
	})
}

func TestNoMachinesWallClockFreesALock(t *testing.T) {
	for name, walls := range map[string][2]time.Duration{
		"a fast waiter":             {0, 10 * time.Minute},
		"a slow holder":             {-10 * time.Minute, 0},
		"both, in other directions": {-50 * time.Second, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				holder, waiter := start(t, s, walls[0]), start(t, s, walls[1])
				l := holder.acquire(t)
				waiter.acquire(t, turn)
				if left := l.End - holder.clock.ElapsedMax(); left > -lock.DefaultGuard {
					t.Errorf("taken %v before the end of the lease, want the guard after it", left)
				}
			})
		})
	}
}

func TestTheGuardSeparatesALeaseFromTheNext(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder, waiter := start(t, s, 0), start(t, s, 0)
		l := holder.acquire(t, lease(time.Second))
		next := waiter.acquire(t, turn)
		if gap := holder.clock.ElapsedMax() - l.End; gap < lock.DefaultGuard {
			t.Errorf("the next holder started %v after the lease, want %v or more", gap, lock.DefaultGuard)
		}
		if next.Row.Owner == l.Row.Owner {
			t.Error("two holders have the same owner")
		}
	})
}

func TestAnAnswerThatContradictsTheTimeIsNotBelieved(t *testing.T) {
	// During the first put the service's clock jumps, which proves what was
	// known to be wrong, and with it the row's until.
	jump := func(t *testing.T, s *locktest.Service) *process {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = func(r locktest.Request) locktest.Fault {
			if r.Op == "put" {
				s.SetClock(func() time.Time { return time.Now().Add(time.Minute) })
			}
			return locktest.Fault{}
		}
		return p
	}
	t.Run("asked again", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			l := jump(t, s).acquire(t, wait(time.Second))
			checkOps(t, s, "put", "delete", "put")
			puts := s.Requests("put")
			if last := puts[len(puts)-1]; last.Owner == puts[len(puts)-2].Owner || l.Row != last.Row {
				t.Errorf("got row %+v, want that of a put with a new owner", l.Row)
			}
		})
	})
	t.Run("no wait left", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			jump(t, s).fails(t, "db_unavailable")
			checkOps(t, s, "put", "delete")
			checkNoRows(t, s)
		})
	})
	t.Run("found out by another request", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := start(t, s, 0)
			p.knowTime(t)
			p.table.Fault = faults("put", locktest.Fault{Kind: locktest.AnswerLost})
			drop := func() {
				now := p.clock.Read()
				p.time.Observe(outcome.Attempt{Sent: now, Received: now, Date: time.Now().Add(time.Hour).Truncate(time.Second)})
				p.time.Observe(outcome.Attempt{Sent: now, Received: now, Date: time.Now().Truncate(time.Second)})
			}
			first := true
			p.locks = withTable(t, p, doneAfterPut{p.table, func() {
				if first {
					drop()
				}
				first = false
			}})
			l := p.acquire(t, wait(time.Second))
			checkOps(t, s, "put", "put", "delete", "put")
			if l.Row != s.Rows()[0] {
				t.Errorf("got row %+v, want the stored one, %+v", l.Row, s.Rows()[0])
			}
		})
	})
}

func TestTurnCountsTheLeaseFromTheAttemptThatGotTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder, p := start(t, s, 0).acquire(t), start(t, s, 0)
		time.AfterFunc(20*time.Second, func() { holder.Release(context.Background()) })
		asked := p.clock.ElapsedMax()
		l := p.acquire(t, turn, lease(10*time.Second))
		puts := s.Requests("put")
		sent := puts[len(puts)-1].At
		if got, want := l.End-p.clock.ElapsedMax(), 10*time.Second-time.Since(sent); got != want {
			t.Errorf("got %v left, want %v", got, want)
		}
		if waited := p.clock.ElapsedMax() - asked; waited < 20*time.Second {
			t.Errorf("waited for %v, want 20 s", waited)
		}
	})
}

func TestTurnCountsTheLeaseFromAnEarlierAttemptThatGotThrough(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.AnswerLost, After: time.Second})
		l := p.acquire(t, turn, lease(10*time.Second), func(r *lock.Request) { r.Poll = time.Second })
		puts := s.Requests("put")
		stored := puts[len(puts)-2]
		if l.Row != stored.Row {
			t.Errorf("got row %+v, want that of the attempt that was stored, %+v", l.Row, stored.Row)
		}
		if got, want := l.End-p.clock.ElapsedMax(), 10*time.Second-time.Since(stored.At); got != want {
			t.Errorf("got %v left, want %v", got, want)
		}
	})
}

func TestTurnLooksAgainAsOftenAsPollSays(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		start(t, s, 0).acquire(t, lease(time.Hour))
		p := start(t, s, 0)
		p.knowTime(t)
		before := len(s.Requests("put"))
		ended := errors.New("over")
		p.locks.Acquire(cancelAfter(t, time.Minute, ended), request(turn, func(r *lock.Request) { r.Poll = 4 * time.Second }))
		if n := len(s.Requests("put")) - before; n < 60/4 || n > 60/2+1 {
			t.Errorf("got %d attempts in a minute, want one every 2 to 4 s", n)
		}
	})
}

func TestWaitersOfManyProcessesSpreadTheirAttempts(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder := start(t, s, 0).acquire(t, lease(time.Hour))
		for range 10 {
			p := start(t, s, 0)
			for range 20 {
				go p.locks.Acquire(t.Context(), request(lease(time.Minute), wait(20*time.Second)))
			}
		}
		asked := time.Now()
		time.Sleep(30 * time.Second)
		puts := s.Requests("put")[1:]
		buckets := map[time.Duration]int{}
		for _, put := range puts {
			if since := put.At.Sub(asked); since > 2*time.Second && since < 19*time.Second {
				buckets[since/(50*time.Millisecond)]++
			}
		}
		for at, n := range buckets {
			if n > len(puts)/20 {
				t.Errorf("got %d of %d attempts in the 50 ms from %v on, want 5 %% at most", n, len(puts), at*50*time.Millisecond)
			}
		}
		if most := 10 * 20 * 4; len(puts) > most {
			t.Errorf("got %d attempts of 10 processes in 20 s, want %d at most", len(puts), most)
		}
		holder.Release(t.Context())
		if !slices.Equal(s.Rows(), nil) {
			t.Errorf("got rows %v, want none of waiters", s.Rows())
		}
	})
}
