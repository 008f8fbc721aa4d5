package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

func TestCrashedHoldersLockIsFreeOnceItsRowHasRunOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		crashed := start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		for range 20 { // time is known best after many answers
			p.mustBeHeld(t)
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

func TestWallClockFreesNoLock(t *testing.T) {
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

func TestGuardSeparatesTwoLeases(t *testing.T) {
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

func TestPutIsNotBelievedIfItsAnswerContradictsTheTime(t *testing.T) {
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
	t.Run("another attempt", func(t *testing.T) {
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
			jump(t, s).mustFail(t, "db_unavailable")
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
			p.locks = withTable(t, p, afterPut{p.table, func() {
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

// standStill lets d pass while both clocks of a machine stand still.
func standStill(m *locktest.Machine, d time.Duration) {
	time.Sleep(d)
	m.Suspend(d)
	m.Step(-d)
}

func TestLeaseIsNotLengthenedByAStepAndASuspension(t *testing.T) {
	for name, back := range map[string]time.Duration{
		"by as much as the suspension": 20 * time.Second,
		"by more":                      time.Hour,
		"by less":                      time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				holder, other := start(t, s, 0), start(t, s, 0)
				started := time.Now()
				l := holder.acquire(t, lease(15*time.Second))
				time.Sleep(2 * time.Second)
				holder.machine.Step(-back)
				holder.clock.Read() // as a function that runs does all the time
				time.Sleep(20 * time.Second)
				holder.machine.Suspend(20 * time.Second)
				if left := l.End - holder.clock.ElapsedMax(); left > 0 {
					t.Errorf("%v of a lease of 15 s are left after %v", left, time.Since(started))
				}
				next := other.acquire(t, turn)
				l.Release(t.Context())
				checkReleased(t, holder, lock.Lost)
				if rows := s.Rows(); len(rows) != 1 || rows[0] != next.Row {
					t.Errorf("got rows %+v, want that of the next holder", rows)
				}
			})
		})
	}
}

// The answer's date shows what no clock of the machine does.
func TestStoppedClocksDuringThePut(t *testing.T) {
	// stopped is a process whose machine stands still during its first put, and
	// with it the timer of that put.
	stopped := func(t *testing.T, s *locktest.Service) *process {
		p := start(t, s, 0)
		p.knowTime(t)
		var err error
		p.locks, err = lock.New(p.clock, p.table, p.time, lock.Options{
			Timeout: func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
				return context.WithCancel(ctx)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		first := true
		p.table.Fault = func(r locktest.Request) locktest.Fault {
			if r.Op == "put" && first {
				first = false
				standStill(p.machine, time.Minute)
			}
			return locktest.Fault{}
		}
		return p
	}
	t.Run("NotAcquiredByACallThatDoesNotWait", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			stopped(t, s).mustFail(t, "db_unavailable")
			checkOps(t, s, "put", "delete")
			checkNoRows(t, s)
		})
	})
	t.Run("AcquiredByAnotherAttemptDuringTheWait", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p, other := stopped(t, s), start(t, s, 0)
			p.acquire(t, lease(10*time.Second), wait(5*time.Second))
			checkOps(t, s, "put", "delete", "put")
			granted := time.Now()
			other.acquire(t, turn)
			if free := time.Since(granted); free < 10*time.Second {
				t.Errorf("another one holds the lock %v later, want the lease of 10 s to be over", free)
			}
		})
	})
	t.Run("DoNotEndTheRowOfAnother", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := stopped(t, s)
			holder := start(t, s, 0)
			held := make(chan *lock.Lease, 1)
			time.AfterFunc(30*time.Second, func() { held <- holder.acquire(t, lease(time.Minute)) }) // while p stands still
			p.mustBeHeld(t, wait(time.Second))
			l := <-held
			if left := l.End - holder.clock.ElapsedMax(); left < 25*time.Second {
				t.Errorf("got %v left, want the holder to be in the middle of its lease", left)
			}
		})
	})
}
