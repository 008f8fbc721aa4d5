package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestReleaseIsSentThoughTheContextIsDone(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		ctx, cancel := context.WithCancel(t.Context())
		l, _ := p.locks.Acquire(ctx, request())
		cancel()
		l.Release(ctx)
		checkReleased(t, p, lock.Freed)
		checkNoRows(t, s)
	})
}

func TestReleaseAfterTheLeaseLeavesTheNextHolderAlone(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		late, next, third := start(t, s, 0), start(t, s, 0), start(t, s, 0)
		l := late.acquire(t)
		held := next.acquire(t, turn)
		l.Release(t.Context())
		checkReleased(t, late, lock.Lost)
		if rows := s.Rows(); len(rows) != 1 || rows[0] != held.Row {
			t.Errorf("got rows %+v, want the next holder's", rows)
		}
		third.mustBeHeld(t)
	})
}

func TestReleaseInDoubtIsResolvedByTheMissingRow(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t)
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.AnswerLost})
		l.Release(t.Context())
		checkReleased(t, p, lock.Freed)
		checkNoRows(t, s)
	})
}

func TestReleaseMakesThreeAttemptsInTwoSeconds(t *testing.T) {
	throttled := locktest.Fault{Kind: locktest.Throttled}
	silent := locktest.Fault{Kind: locktest.Lost, After: time.Hour}
	tests := map[string]struct {
		faults  []locktest.Fault
		deletes int
		how     lock.ReleaseResult
	}{
		"throttled twice":    {[]locktest.Fault{throttled, throttled}, 3, lock.Freed},
		"throttled always":   {[]locktest.Fault{throttled, throttled, throttled, throttled}, 3, lock.Failed},
		"silent once":        {[]locktest.Fault{silent}, 2, lock.Freed},
		"silent always":      {[]locktest.Fault{silent, silent, silent}, 2, lock.Failed},
		"the table has gone": {[]locktest.Fault{{Kind: locktest.NoTable}}, 1, lock.Failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				p.knowTime(t)
				l := p.acquire(t)
				before := len(s.Requests("delete"))
				p.table.Fault = faults("delete", test.faults...)
				if d := took(func() { l.Release(t.Context()) }); d > 2*time.Second {
					t.Errorf("took %v, want 2 s at most", d)
				}
				if got := len(s.Requests("delete")) - before; got != test.deletes {
					t.Errorf("got %d deletes, want %d", got, test.deletes)
				}
				if how := p.releases()[1]; how != test.how {
					t.Errorf("got %v, want %v", how, test.how)
				}
				if failed := test.how == lock.Failed; (len(p.warned) == 1) != failed {
					t.Errorf("got warnings %q with %v", p.warned, test.how)
				}
				if err := p.released[1].Err; (err != nil) != (test.how == lock.Failed) {
					t.Errorf("got error %v with %v", err, test.how)
				}
				p.acquire(t, turn) // it blocks no caller of this process
			})
		})
	}
}

func TestReleaseEndsWithTheHost(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t, func(r *lock.Request) { r.HostEnd = p.clock.ElapsedMax() + time.Second })
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.Lost, After: time.Hour})
		time.Sleep(700 * time.Millisecond)
		if d := took(func() { l.Release(t.Context()) }); d > 300*time.Millisecond {
			t.Errorf("took %v, want the 300 ms that the host had left", d)
		}
	})
}

func TestReleaseAfterTheHostsEndFailsWithoutARequest(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t, func(r *lock.Request) { r.HostEnd = p.clock.ElapsedMax() + time.Second })
		time.Sleep(time.Second)
		before := len(s.Requests())
		l.Release(t.Context())
		checkReleased(t, p, lock.Failed)
		if len(s.Requests()) != before || p.released[0].Err == nil {
			t.Errorf("got %d requests and error %v, want none and an error", len(s.Requests())-before, p.released[0].Err)
		}
	})
}

func TestReleaseTwiceSendsOneDelete(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		l := p.acquire(t)
		l.Release(t.Context())
		l.Release(t.Context())
		l.LetExpire()
		checkOps(t, s, "put", "delete")
	})
}

func TestLetExpireKeepsTheRow(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t)
		l.LetExpire()
		checkReleased(t, p, lock.Kept)
		p.mustBeHeld(t)
		p.acquire(t, turn)
		if after := p.clock.ElapsedMax() - l.End; after < lock.DefaultGuard {
			t.Errorf("the next holder started %v after the lease, want %v or more", after, lock.DefaultGuard)
		}
	})
}

func TestReleaseOfARemovedRowIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t)
		s.Remove(theLock)
		l.Release(t.Context())
		checkReleased(t, p, lock.Lost)
		checkNoRows(t, s)
	})
}

func TestReleaseEventHasTheOverrun(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t, lease(time.Second))
		time.Sleep(l.End - p.clock.ElapsedMax() + 3*time.Millisecond)
		l.Release(t.Context())
		if got := p.released[0].Overrun; got != 3*time.Millisecond {
			t.Errorf("got %v over the lease, want 3ms", got)
		}
	})
}
