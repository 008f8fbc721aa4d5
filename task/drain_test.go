package task

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// settles is how long net/http looks, now and then, whether all has been
// answered.
const settles = 10 * time.Millisecond

func TestAnIdleHostStopsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(time.Second), Tenants: tenantsNamed("a"), StopTimeout: 25 * 24 * time.Hour})
		s.invoke("a", ``)
		from := time.Now()
		s.stop()
		if took := s.took(from); took != 0 || s.err != nil {
			t.Errorf("took %v (%v), want no time", took, s.err)
		}
	})
}

func TestWhatRunsHasItsTimeUntilTheReserveAndIsCancelledThen(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct {
		name          string
		work          time.Duration
		stop, reserve time.Duration
		limit         time.Duration // of the run
		ends          time.Duration // after the request to stop
		kind          string
	}{
		{"short work", 10 * time.Second, 30 * time.Second, 5 * time.Second, day, 10 * time.Second, ""},
		{"work until the reserve", 24 * time.Second, 0, 0, day, 24 * time.Second, ""},
		{"longer work", 26 * time.Second, 0, 0, day, 25 * time.Second, "Host.Shutdown"},
		{"its own limit", 26 * time.Second, 0, 0, 20 * time.Second, 20 * time.Second, "Script.Timeout"},
		{"no time at all", time.Second, 1, 0, day, 1, "Host.Shutdown"},
		{"all time is reserve", time.Second, 10 * time.Second, time.Hour, day, time.Second, ""},
		{"25 days", 24 * day, 25 * day, 0, 30 * day, 24 * day, ""},
		{"for ever", 50 * day, math.MaxInt64, 0, math.MaxInt64, 50 * day, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				tenants := tenantsNamed("a")
				a := tenants["a"]
				a.Limits.Timeout = test.limit
				tenants["a"] = a
				s := serveHost(t, Config{Engine: works(test.work), Tenants: tenants, StopTimeout: test.stop, StopReserve: test.reserve})
				replies := make(chan reply, 1)
				go func() { replies <- s.invoke("a", ``) }()
				synctest.Wait()
				from := time.Now()
				s.stop()
				took := s.took(from)
				r := <-replies
				if took-test.ends > settles || took < test.ends {
					t.Errorf("took %v, want %v", took, test.ends)
				}
				if kind, _ := r.field("error.type").(string); kind != test.kind {
					t.Errorf("got %s, want %s", r.body, test.kind)
				}
			})
		})
	}
}

func TestNegativeDurationsAreRefused(t *testing.T) {
	for _, c := range []Config{{StopTimeout: -1}, {StopReserve: -1}, {Retention: Retention{For: -1}}, {Limits: Limits{QueueLength: -1}}} {
		c.Engine = works(0)
		if _, err := New(c); err == nil {
			t.Errorf("%+v: want an error", c)
		}
	}
}

func TestWhatWaitsIsAnsweredAtOnceAndNothingNewIsTaken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var runs atomic.Int32
		s := serveHost(t, Config{Engine: fakeEngine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return works(10*time.Second)(ctx, inv)
		}), Tenants: tenantsNamed("a", "b"), Limits: Limits{Concurrency: 2}})
		replies := make(chan reply, 20)
		for i := range 20 {
			go func() { replies <- s.invoke([]string{"a", "b"}[i%2], ``) }()
		}
		synctest.Wait()
		async := s.begin("a", ``)
		ready := func() int {
			answer, err := s.internal.Get("http://localhost/readyz")
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode
		}
		if got := ready(); got != 200 {
			t.Errorf("ready: got %d, want 200", got)
		}
		s.stop()
		for range 18 {
			r := <-replies
			r.want(t, "what waited", 503, "Host.Shutdown")
			if r.field("error.retryable") != true {
				t.Errorf("got %s, want it to be retryable", r.body)
			}
		}
		if got := ready(); got != 503 {
			t.Errorf("ready while it stops: got %d, want 503", got)
		}
		s.invoke("a", ``).want(t, "what is new", 503, "Host.Shutdown")
		if got := s.result(async); got.field("result.error.type") != "Host.Shutdown" {
			t.Errorf("got %s, want Host.Shutdown", got.body)
		}
		for range 2 { // late results are delivered
			if r := <-replies; r.field("value") != "done" {
				t.Errorf("got %s, want what was returned", r.body)
			}
		}
		<-s.ended
		if runs.Load() != 2 || s.err != nil {
			t.Errorf("got %d runs, %v, want 2", runs.Load(), s.err)
		}
	})
}

func TestHurryCancelsAtOnceAndStillReports(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(20 * time.Second), Tenants: tenantsNamed("a")})
		replies := make(chan reply, 3)
		for range 3 {
			go func() { replies <- s.invoke("a", ``) }()
		}
		synctest.Wait()
		from := time.Now()
		s.stop()
		time.Sleep(time.Second) // of fake time
		s.ForceStop()
		s.ForceStop()
		for range 3 {
			(<-replies).want(t, "hurried", 503, "Host.Shutdown")
		}
		if took := s.took(from); took < time.Second || took > time.Second+settles {
			t.Errorf("took %v, want 1s", took)
		}
	})
}

// stuck is a run that doesn't come back before it is told to.
func stuck(release <-chan struct{}) fakeEngine {
	return func(context.Context, runtime.Invocation) *runtime.Result {
		<-release
		return returns(`"late"`)
	}
}

func TestARunThatDoesNotComeBackGetsItsResultWithout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var abandoned, returned, ended atomic.Int32
		s := serveHost(t, Config{Engine: stuck(release), Tenants: tenantsNamed("a"), Limits: Limits{Concurrency: 2, TenantConcurrency: 2},
			Events: Events{
				Abandoned: func(tenant.ID) { abandoned.Add(1) }, Returned: func(tenant.ID) { returned.Add(1) },
				Ended: func(tenant.ID, *runtime.Result) { ended.Add(1) },
			}})
		from := time.Now()
		s.invoke("a", ``).want(t, "over its limit", 504, "Script.Timeout")
		if took := time.Since(from); took != 40*time.Second {
			t.Errorf("answered after %v, want 40s", took)
		}
		id := s.begin("a", ``)
		s.do("DELETE", "/v1/invocations/"+id, "")
		from = time.Now()
		if r := s.result(id); r.field("result.error.type") != "Script.Cancelled" || r.field("abandoned") != true {
			t.Errorf("got %s, want it cancelled and abandoned", r.body)
		}
		if took := time.Since(from); took != 10*time.Second {
			t.Errorf("answered after %v, want 10s", took)
		}
		synctest.Wait()
		if n := abandoned.Load(); n != 2 {
			t.Errorf("got %d abandoned, want 2", n)
		}
		waiting := s.begin("a", ``) // both slots are still taken
		synctest.Wait()
		if s.known[waiting].state != queued {
			t.Errorf("got %s, want queued: nothing has come back", s.known[waiting].state)
		}
		close(release)
		if r := s.result(waiting); r.field("result.value") != "late" {
			t.Errorf("got %s, want its own result", r.body)
		}
		synctest.Wait()
		if returned.Load() != 2 || ended.Load() != 3 {
			t.Errorf("got %d returned, %d ended, want 2 and 3", returned.Load(), ended.Load())
		}
	})
}

func TestStoppingEndsAlthoughARunDoesNotComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := serveHost(t, Config{Engine: stuck(release), Tenants: tenantsNamed("a"), StopTimeout: 10 * time.Second, StopReserve: 5 * time.Second})
		replies := make(chan reply, 1)
		go func() { replies <- s.invoke("a", ``) }()
		synctest.Wait()
		from := time.Now()
		s.stop()
		(<-replies).want(t, "given up", 503, "Host.Shutdown")
		if took := s.took(from); took < 9*time.Second || took > 9*time.Second+settles {
			t.Errorf("took %v, want 9s", took)
		}
	})
}

func TestWhatHasRunForLongIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(20 * time.Second), Tenants: tenantsNamed("a")})
		if s.RunningFor(0) {
			t.Error("got something that runs before anything was asked for")
		}
		go s.invoke("a", ``)
		for _, test := range []struct {
			after time.Duration
			want  bool
		}{{9 * time.Second, false}, {2 * time.Second, true}, {10 * time.Second, false}} {
			time.Sleep(test.after)
			synctest.Wait()
			if got := s.RunningFor(10 * time.Second); got != test.want {
				t.Errorf("after %v more: got %v, want %v", test.after, got, test.want)
			}
		}
	})
}
