package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

func TestAcquireReturnsAFinalErrorAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = func(locktest.Request) locktest.Fault { return locktest.Fault{Kind: locktest.NoTable} }
		for _, change := range []func(*lock.Request){turn, wait(20 * time.Second)} {
			if d := took(func() { p.mustFail(t, "db_unavailable", change) }); d > time.Second {
				t.Errorf("raised after %v, want at once", d)
			}
		}
		checkOps(t, s, "delete", "put") // the refusal of the first has told the time
	})
}

func TestAcquireReturnsTheTablesErrorSoonAfterTheWait(t *testing.T) {
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

func TestBudgetIsSpentByPutsAndItsEndLeavesNoRow(t *testing.T) {
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
			// Nothing is ever answered, so attempts go on until the budget's end.
			p.table.Fault = faults("put", locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.Lost}, locktest.Fault{Kind: locktest.Lost})
		}))
		if !errors.Is(err, usedUp) {
			t.Errorf("got error %v, want the budget's", err)
		}
		checkOps(t, s, "delete", "put", "put", "put", "delete")
		checkNoRows(t, s)
	})
}

func TestContextEndsTheWaitAndLeavesNoRow(t *testing.T) {
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
			p.locks = withTable(t, p, afterPut{p.table, func() { cancel(ended) }})
			l, err := p.locks.Acquire(ctx, request())
			if l != nil || err != ended {
				t.Errorf("got lease %v and error %v, want the run's error", l, err)
			}
			checkNoRows(t, s)
		})
	})
}
