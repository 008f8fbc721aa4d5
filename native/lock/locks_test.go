package lock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]lock.Options{
		"guard below 1 s":       {Guard: 999 * time.Millisecond},
		"negative guard":        {Guard: -time.Second},
		"longest lease too low": {MaxLease: time.Microsecond},
	} {
		if _, err := lock.New(nil, nil, nil, o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestAcquireRefusesABadRequestAtOnce(t *testing.T) {
	name := func(name string) func(*lock.Request) { return func(r *lock.Request) { r.Key.Name = name } }
	for what, change := range map[string]func(*lock.Request){
		"no lease":         lease(0),
		"negative lease":   lease(-time.Second),
		"lease below 1 ms": lease(999 * time.Microsecond),
		"lease over 1 h":   lease(time.Hour + time.Millisecond),
		"negative wait":    wait(-1),
		"negative poll":    func(r *lock.Request) { r.Poll = -1 },
		"no name":          name(""),
		"long name":        name(strings.Repeat("n", 513)),
		"name not UTF-8":   name("\xff"),
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				for _, scope := range []lock.Scope{lock.DB, lock.Local} {
					l, err := p.locks.Acquire(t.Context(), request(change, func(r *lock.Request) { r.Scope = scope }))
					if l != nil || err == nil {
						t.Errorf("%v: got lease %v and error %v, want an error", scope, l, err)
					}
				}
				checkOps(t, s)
			})
		})
	}
}

func TestAcquireWithoutATableIsForLocalLocks(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.locks = withTable(t, p, nil)
		if err := p.mustFail(t, "db_unavailable"); err.Retryable {
			t.Error("the error says that trying again may help")
		}
		p.acquire(t, local).Release(t.Context())
	})
}

func TestAcquireSeparatesTenantsAndScopes(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		other := func(r *lock.Request) { r.Key.Tenant = "other" }
		p.acquire(t)
		p.acquire(t, local)
		p.acquire(t, other)
		p.acquire(t, other, local)
		if n := len(s.Rows()); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
}

func TestAcquireIsNotReentrant(t *testing.T) {
	for _, scope := range []lock.Scope{lock.DB, lock.Local} {
		t.Run(scope.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				mine := func(r *lock.Request) { r.Scope = scope }
				held := &lock.Held{}
				same := func(r *lock.Request) { r.Held = held }
				l := p.acquire(t, mine, same)
				before := len(s.Requests())

				p.mustBeHeld(t, mine, same, wait(10*time.Second))
				p.mustFail(t, "lock_reentered", mine, same, turn)
				if len(s.Requests()) != before || len(p.warned) != 1 {
					t.Errorf("got %d more requests and warnings %q, want none and one", len(s.Requests())-before, p.warned)
				}
				l.Release(t.Context())
				p.acquire(t, mine, same).Release(t.Context())
			})
		})
	}
}

func TestLeaseIsCutForTheHolderAndRoundedUpForTheRow(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		started := p.clock.ElapsedMax()
		l := p.acquire(t, lease(1500700*time.Microsecond))
		if got := l.End - started; got != 1500*time.Millisecond {
			t.Errorf("got %v for the holder, want 1.5s", got)
		}
		if got := l.Row.Until - l.Row.Start; got != 1501+1+2000 {
			t.Errorf("got %d ms in the row, want 1501 + 1 + 2000", got)
		}
	})
}

func TestLocalLockPassesOnAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		first := p.acquire(t, local)
		handed := make(chan time.Time)
		go func() { p.acquire(t, local, wait(20*time.Second)); handed <- time.Now() }()
		time.Sleep(7777 * time.Microsecond)
		released := time.Now()
		first.Release(t.Context())
		if at := <-handed; !at.Equal(released) {
			t.Errorf("handed over after %v, want at once", at.Sub(released))
		}
	})
}

func TestLocalWaitEndsWithTheWaitTheLeaseAndTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t, local)
		for _, test := range []struct {
			change []func(*lock.Request)
			want   time.Duration
		}{
			{[]func(*lock.Request){wait(1500 * time.Microsecond)}, time.Millisecond}, // fractions are cut
			{[]func(*lock.Request){wait(3 * time.Second)}, 3 * time.Second},
			{[]func(*lock.Request){wait(3 * time.Second), lease(time.Second)}, time.Second},
		} {
			d := took(func() { p.mustBeHeld(t, append(test.change, local)...) })
			if d < test.want || d > test.want+time.Microsecond {
				t.Errorf("waited for %v, want %v", d, test.want)
			}
		}
		ended := errors.New("over")
		if _, err := p.locks.Acquire(cancelAfter(t, time.Second, ended), request(local, turn)); err != ended {
			t.Errorf("got error %v, want the run's", err)
		}
		l.Release(t.Context())
		p.acquire(t, local)
	})
}

func TestLocalWaitDoesNotOutlastASuspension(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.acquire(t, local)
		time.AfterFunc(2*time.Second, func() { p.machine.Step(time.Minute) })
		if d := took(func() { p.mustBeHeld(t, local, wait(20*time.Second)) }); d > 3*time.Second {
			t.Errorf("waited for %v on the monotonic clock, want 3 s at most", d)
		}
	})
}
