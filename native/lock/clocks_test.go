package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

// standStill lets d pass while both clocks of a machine stand still.
func standStill(m *locktest.Machine, d time.Duration) {
	time.Sleep(d)
	m.Suspend(d)
	m.Step(-d)
}

func TestAWallClockSetBackAndASuspensionWithinOneLeaseDoNotMakeItLonger(t *testing.T) {
	for name, back := range map[string]time.Duration{
		"by as much as the suspension": 20 * time.Second,
		"by more":                      time.Hour,
		"by less":                      time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				holder, other := start(t, s, 0), start(t, s, 0)
				asked := time.Now()
				l := holder.acquire(t, lease(15*time.Second))
				time.Sleep(2 * time.Second)
				holder.machine.Step(-back)
				holder.clock.Read() // as a function that runs does all the time
				time.Sleep(20 * time.Second)
				holder.machine.Suspend(20 * time.Second)
				if left := l.End - holder.clock.ElapsedMax(); left > 0 {
					t.Errorf("%v of a lease of 15 s are left after %v", left, time.Since(asked))
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
func TestBothClocksStoppedBetweenAskingAndTheAnswer(t *testing.T) {
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
	t.Run("is not acquired by a call that can't ask again", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			stopped(t, s).fails(t, "db_unavailable")
			checkOps(t, s, "put", "delete")
			checkNoRows(t, s)
		})
	})
	t.Run("is asked for again while the wait lasts", func(t *testing.T) {
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
	t.Run("makes somebody else's row no older", func(t *testing.T) {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := stopped(t, s)
			holder := start(t, s, 0)
			held := make(chan *lock.Lease, 1)
			time.AfterFunc(30*time.Second, func() { held <- holder.acquire(t, lease(time.Minute)) }) // while p stands still
			p.refused(t, wait(time.Second))
			l := <-held
			if left := l.End - holder.clock.ElapsedMax(); left < 25*time.Second {
				t.Errorf("got %v left, want the holder to be in the middle of its lease", left)
			}
		})
	})
}

func TestAFreshProcessThatMayNotWait(t *testing.T) {
	for _, test := range []struct {
		name     string
		until    time.Duration // of the row that is there, from now; 0: none is
		acquired bool
	}{
		{"acquires a free lock", 0, true},
		{"acquires a lock whose row has run out", -2 * time.Second, true},
		{"acquires a lock whose row ran out long ago", -time.Hour, true},
		{"is refused a lock that is held", 10 * time.Second, false},
	} {
		t.Run(test.name+", with one question for the time", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				if test.until != 0 {
					s.Store(lock.Row{Key: theLock, Owner: "another", Until: lock.UnixMilli(time.Now().Add(test.until).UnixMilli())})
				}
				p := start(t, s, 0)
				if !test.acquired {
					p.refused(t)
					checkOps(t, s, "delete", "put")
					return
				}
				p.acquire(t).Release(t.Context())
				checkOps(t, s, "delete", "put", "delete")
				checkNoRows(t, s)
			})
		})
	}
}
