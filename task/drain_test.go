package task_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// pollTime is how often net/http checks whether all requests have been answered.
const pollTime = 10 * time.Millisecond

func TestServeOfAnIdleHostStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(time.Second), Tenants: runnertest.Tenants("a"), StopTimeout: 25 * 24 * time.Hour})
		s.Invoke("a", ``)
		synctest.Wait() // until its connection is closed
		from := time.Now()
		s.Stop()
		if took := s.Took(from); took != 0 || s.Err != nil {
			t.Errorf("took %v (%v), want no time", took, s.Err)
		}
	})
}

func TestServeCancelsWhatRunsWhenTheReserveIsLeft(t *testing.T) {
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
			synctest.Test(t, func(t *testing.T) {
				tenants := runnertest.Tenants("a")
				a := tenants["a"]
				a.Limits.Timeout = test.limit
				tenants["a"] = a
				s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(test.work), Tenants: tenants, StopTimeout: test.stop, StopReserve: test.reserve})
				replies := make(chan tasktest.Reply, 1)
				go func() { replies <- s.Invoke("a", ``) }()
				synctest.Wait()
				from := time.Now()
				s.Stop()
				took := s.Took(from)
				r := <-replies
				if took-test.ends > pollTime || took < test.ends {
					t.Errorf("took %v, want %v", took, test.ends)
				}
				if kind, _ := r.Field("error.type").(string); kind != test.kind {
					t.Errorf("got %s, want %s", r.Body, test.kind)
				}
			})
		})
	}
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	for _, c := range []task.Config{{StopTimeout: -1}, {StopReserve: -1}, {Retention: task.Retention{For: -1}}, {Limits: task.Limits{QueueLength: -1}}} {
		c.Engine = runnertest.Work(0)
		if _, err := task.New(c); err == nil {
			t.Errorf("%+v: want an error", c)
		}
	}
}

func TestServeRefusesWhatWaitsWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return runnertest.Work(10*time.Second)(ctx, inv)
		}), Tenants: runnertest.Tenants("a", "b"), Limits: task.Limits{Concurrency: 2}})
		replies := make(chan tasktest.Reply, 20)
		for i := range 20 {
			go func() { replies <- s.Invoke([]string{"a", "b"}[i%2], ``) }()
		}
		synctest.Wait()
		async := s.Begin("a", ``)
		ready := func() int {
			answer, err := s.Internal.Get("http://localhost/readyz")
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode
		}
		if got := ready(); got != 200 {
			t.Errorf("ready: got %d, want 200", got)
		}
		s.Stop()
		for range 18 {
			r := <-replies
			r.Want(t, "what waited", 503, "Host.Shutdown")
			if r.Field("error.retryable") != true {
				t.Errorf("got %s, want it to be retryable", r.Body)
			}
		}
		if got := ready(); got != 503 {
			t.Errorf("ready while it stops: got %d, want 503", got)
		}
		s.Invoke("a", ``).Want(t, "what is new", 503, "Host.Shutdown")
		if got := s.Result(async); got.Field("result.error.type") != "Host.Shutdown" {
			t.Errorf("got %s, want Host.Shutdown", got.Body)
		}
		for range 2 { // late results are delivered
			if r := <-replies; r.Field("value") != "done" {
				t.Errorf("got %s, want what was returned", r.Body)
			}
		}
		<-s.Ended
		if runs.Load() != 2 || s.Err != nil {
			t.Errorf("got %d runs, %v, want 2", runs.Load(), s.Err)
		}
	})
}

func TestForceStopCancelsAtOnceAndDeliversResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(20 * time.Second), Tenants: runnertest.Tenants("a")})
		replies := make(chan tasktest.Reply, 3)
		for range 3 {
			go func() { replies <- s.Invoke("a", ``) }()
		}
		synctest.Wait()
		from := time.Now()
		s.Stop()
		time.Sleep(time.Second) // of fake time
		s.ForceStop()
		s.ForceStop()
		for range 3 {
			(<-replies).Want(t, "force stop", 503, "Host.Shutdown")
		}
		if took := s.Took(from); took < time.Second || took > time.Second+pollTime {
			t.Errorf("took %v, want 1s", took)
		}
	})
}

func TestAbandonedRunHasAResultAndKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var abandoned, returned, ended atomic.Int32
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Stuck(release), Tenants: runnertest.Tenants("a"), Limits: task.Limits{Concurrency: 2, TenantConcurrency: 2},
			Events: task.Events{
				Abandoned: func(tenant.ID) { abandoned.Add(1) }, Returned: func(tenant.ID) { returned.Add(1) },
				Ended: func(tenant.ID, *runtime.Result) { ended.Add(1) },
			}})
		from := time.Now()
		s.Invoke("a", ``).Want(t, "over its limit", 504, "Script.Timeout")
		if took := time.Since(from); took != 40*time.Second {
			t.Errorf("answered after %v, want 40s", took)
		}
		id := s.Begin("a", ``)
		synctest.Wait() // until it runs
		s.Do("DELETE", "/v1/invocations/"+id, "")
		from = time.Now()
		if r := s.Result(id); r.Field("result.error.type") != "Script.Cancelled" || r.Field("abandoned") != true {
			t.Errorf("got %s, want it cancelled and abandoned", r.Body)
		}
		if took := time.Since(from); took != 10*time.Second {
			t.Errorf("answered after %v, want 10s", took)
		}
		synctest.Wait()
		if n := abandoned.Load(); n != 2 {
			t.Errorf("got %d abandoned, want 2", n)
		}
		waiting := s.Begin("a", ``) // both slots are still taken
		synctest.Wait()
		if r := s.Do("GET", "/v1/invocations/"+waiting, ""); r.Field("state") != "queued" {
			t.Errorf("got %s, want queued: nothing has come back", r.Body)
		}
		close(release)
		if r := s.Result(waiting); r.Field("result.value") != "late" {
			t.Errorf("got %s, want its own result", r.Body)
		}
		synctest.Wait()
		if returned.Load() != 2 || ended.Load() != 3 {
			t.Errorf("got %d returned, %d ended, want 2 and 3", returned.Load(), ended.Load())
		}
	})
}

func TestServeStopsAlthoughARunDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Stuck(release), Tenants: runnertest.Tenants("a"), StopTimeout: 10 * time.Second, StopReserve: 5 * time.Second})
		replies := make(chan tasktest.Reply, 1)
		go func() { replies <- s.Invoke("a", ``) }()
		synctest.Wait()
		from := time.Now()
		s.Stop()
		(<-replies).Want(t, "given up", 503, "Host.Shutdown")
		if took := s.Took(from); took < 9*time.Second || took > 9*time.Second+pollTime {
			t.Errorf("took %v, want 9s", took)
		}
	})
}

func TestRunningForSeesLongRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(20 * time.Second), Tenants: runnertest.Tenants("a")})
		if s.RunningFor(0) {
			t.Error("got something that runs before anything was asked for")
		}
		go s.Invoke("a", ``)
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

func TestCancelAgainGivesNoMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Stuck(release), Tenants: runnertest.Tenants("a")})
		id := s.Begin("a", ``)
		synctest.Wait()
		from := time.Now()
		for range 20 {
			if r := s.Do("DELETE", "/v1/invocations/"+id, ""); r.Status == 200 {
				break
			}
			time.Sleep(time.Second)
		}
		const overdue = 10 * time.Second
		if took := time.Since(from); took > overdue+time.Second {
			t.Errorf("it has its result after %v, want %v", took, overdue)
		}
	})
}

// Everything takes its longest: a run doesn't come back, and on both ports
// somebody sends a request without an end.
func TestServeStopsBeforeItIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Stuck(release), Tenants: runnertest.Tenants("a"), StopTimeout: 30 * time.Second})
		s.Begin("a", ``)
		synctest.Wait()
		for _, client := range []*http.Client{s.API, s.Internal} {
			go func() {
				for {
					conn, err := client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
					if err != nil {
						return // it doesn't listen any more
					}
					fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			}()
		}
		from := time.Now()
		s.Stop()
		if took := s.Took(from); took >= 30*time.Second {
			t.Errorf("it took %v, want less than the 30 s until the kill", took)
		}
	})
}

func TestRetentionIsBoundedAndFairToTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := `"` + strings.Repeat("x", 10_000) + `"`
		for _, test := range []struct {
			name string
			keep task.Retention
		}{
			{"count", task.Retention{Count: 10}},
			{"bytes", task.Retention{Bytes: 10 * 11_500}},
		} {
			s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(context.Context, runtime.Invocation) *runtime.Result { return runnertest.Return(large) }),
				Tenants: runnertest.Tenants("loud", "quiet"), Retention: test.keep})
			quiet := s.Invoke("quiet", ``).ID()
			var loud []string
			for range 50 {
				loud = append(loud, s.Invoke("loud", ``).ID())
			}
			list, _ := s.Do("GET", "/v1/invocations", "").Field("invocations").([]any)
			if n := len(list); n < 8 || n > 10 {
				t.Errorf("%s: got %d results kept, want about 10", test.name, n)
			}
			if r := s.Result(quiet); r.Field("result.ok") != true {
				t.Errorf("%s: the quiet tenant's result is gone", test.name)
			}
			s.Result(loud[0]).Want(t, "the oldest of the loud one", 404, "Request.NotFound")
			s.Stop()
			<-s.Ended
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
