package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestProbePrecedesThePutUntilTheTimeIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.Lost})
		p.mustFail(t, "db_unavailable")
		checkOps(t, s, "delete")

		p.acquire(t, wait(time.Second)).Release(t.Context())
		first := s.Requests()[1]
		if put := s.Requests("put")[0]; first.Op != "delete" || first.Owner == put.Owner {
			t.Errorf("got first request %+v, want a probe with an owner of its own", first)
		}
	})
}

func TestProbeIsRepeatedOnceTheIntervalIsTooWide(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.knowTime(t)
		time.Sleep(time.Hour) // 1.8 s more on each side
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete")

		p.machine.Step(time.Minute) // ElapsedMax and ElapsedMin are a minute apart
		p.acquire(t).Release(t.Context())
		checkOps(t, s, "delete", "put", "delete", "delete", "put", "delete")
	})
}

// A single answer tells the time well enough if it takes half a second at most.
func TestProbeIsRepeatedAfterASlowAnswer(t *testing.T) {
	slow := func(d time.Duration) locktest.Fault { return locktest.Fault{After: d} }
	for _, test := range []struct {
		name     string
		delays   []locktest.Fault // of the probes
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
				} else if d := took(func() { p.mustFail(t, "db_unavailable") }); d > 1500*time.Millisecond {
					t.Errorf("the call took %v, want an attempt's time at most", d)
				}
				checkOps(t, s, test.requests...)
			})
		})
	}
}

func TestProbeIsRepeatedAfterALostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		p.table.Fault = faults("delete", locktest.Fault{Kind: locktest.AnswerLost})
		p.acquire(t, wait(time.Second)).Release(t.Context())
		checkOps(t, s, "delete", "delete", "put", "delete")
	})
}

func TestProbeThatIsLostIsAnErrorThoughAnotherCallLearnedTheTime(t *testing.T) {
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
		p.mustFail(t, "db_unavailable", lease(time.Second), wait(900*time.Millisecond))
		checkOps(t, s, "delete")
	})
}

func TestProbeOfAFreshProcess(t *testing.T) {
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
		t.Run(test.name+", with one probe", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				if test.until != 0 {
					s.Store(lock.Row{Key: theLock, Owner: "another", Until: lock.UnixMilli(time.Now().Add(test.until).UnixMilli())})
				}
				p := start(t, s, 0)
				if !test.acquired {
					p.mustBeHeld(t)
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
