package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

func TestInvokeAnswersWithTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme")})
		for _, test := range []struct{ path, body, value string }{
			{"job", `{"a":1}`, "job.lua map[a:1] 30s"},
			{"job.lua", ``, "job.lua <nil> 30s"},
			{"deep/er", ` null `, "deep/er.lua <nil> 30s"},
		} {
			r := s.Do("POST", "/v1/tenants/acme/scripts/"+test.path+"/invocations", test.body)
			if r.Status != 200 || r.Field("ok") != true || r.Field("value") != test.value || r.ID() == "" {
				t.Errorf("%s: got %d %s, want %q", test.path, r.Status, r.Body, test.value)
			}
		}
	})
}

func TestInvokeAnswersErrorsWithTheStatusOfTheirType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme")})
		for _, kind := range []runtime.ErrorType{
			runtime.SyntaxError, runtime.RuntimeError, runtime.Raised, runtime.Timeout, runtime.LimitExceeded, runtime.Cancelled,
			runtime.NotSerializable, runtime.ResultTooLarge, runtime.HostInternal,
		} {
			s.Invoke("acme", fmt.Sprintf(`{"as":%q}`, kind)).Want(t, string(kind), kind.HTTPStatus(), string(kind))
		}
		s.Invoke("nobody", ``).Want(t, "unknown tenant", 404, "Tenant.Unknown")
		s.Do("POST", "/v1/tenants/acme/scripts/none/invocations", ``).Want(t, "unknown script", 404, "Script.NotFound")
		s.Do("POST", "/v1/tenants/acme/scripts/%2e%2e%2fx/invocations", ``).Want(t, "script outside", 404, "Script.NotFound")
		s.Invoke("acme", `{`).Want(t, "no JSON", 400, "Event.Invalid")
		s.Invoke("acme", strings.Repeat(" ", runtime.EventBytesMax+1)).Want(t, "too large", 413, "Event.TooLarge")
		s.Invoke("acme", ``, "Content-Encoding", "gzip").Want(t, "compressed", 400, "Request.Invalid")
		s.Do("GET", tasktest.Path("acme"), ``).Want(t, "wrong method", 404, "Request.NotFound")
		s.Do("POST", "/v1/tenants/acme/scripts/work", ``).Want(t, "no such path", 404, "Request.NotFound")
	})
}

func TestInvokeCanOnlyShortenTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("acme")})
		for _, test := range []struct{ ms, value string }{
			{"1", "1ms"}, {"29999", "29.999s"}, {"30001", "30s"}, {"2160000000", "30s"}, {"9223372036854775807", "30s"},
		} {
			r := s.Invoke("acme", ``, "X-Timeout-Ms", test.ms)
			if got, _ := r.Field("value").(string); !strings.HasSuffix(got, " "+test.value) {
				t.Errorf("%s ms: got %s, want %s", test.ms, r.Body, test.value)
			}
		}
		for _, ms := range []string{"0", "-1", "1.5", "9223372036854775808", "soon"} {
			s.Invoke("acme", ``, "X-Timeout-Ms", ms).Want(t, ms, 400, "Request.Invalid")
		}
		r := s.Invoke("acme", `{"ms":5000}`, "X-Timeout-Ms", "100")
		r.Want(t, "timed out", 504, "Script.Timeout")
		if message, _ := r.Field("error.message").(string); !strings.Contains(message, "100ms") {
			t.Errorf("got %q, want the limit that fired", message)
		}
	})
}

func TestInvokeAsyncCanBeReadAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(time.Second), Tenants: runnertest.Tenants("acme", "other")})
		r := s.Invoke("acme", ``, "Prefer", "wait=1, Respond-Async ;x=y")
		if r.Status != 202 || r.Header.Get("Location") != "/v1/invocations/"+r.ID() || r.Header.Get("Preference-Applied") != "respond-async" {
			t.Fatalf("got %d %v %s", r.Status, r.Header, r.Body)
		}
		other := s.Begin("other", ``)
		synctest.Wait()
		list := s.Do("GET", "/v1/invocations?state=running", "")
		if !strings.Contains(list.Body, r.ID()) || !strings.Contains(list.Body, other) {
			t.Errorf("got %s, want both", list.Body)
		}
		if list := s.Do("GET", "/v1/invocations?state=running&tenant=other", ""); strings.Contains(list.Body, r.ID()) {
			t.Errorf("got %s, want the other's alone", list.Body)
		}
		s.Do("GET", "/v1/invocations?state=lost", "").Want(t, "unknown state", 400, "Request.Invalid")
		if c := s.Do("DELETE", "/v1/invocations/"+other, ""); c.Status != 202 {
			t.Errorf("cancel: got %d, want 202", c.Status)
		}
		if got := s.Result(other); got.Field("state") != "finished" || got.Field("result.error.type") != "Script.Cancelled" {
			t.Errorf("got %s, want Script.Cancelled", got.Body)
		}
		if got := s.Result(r.ID()); got.Field("result.value") != "done" {
			t.Errorf("got %s, want its result", got.Body)
		}
		if c := s.Do("DELETE", "/v1/invocations/"+r.ID(), ""); c.Status != 200 || c.Field("result.value") != "done" {
			t.Errorf("cancel of what is over: got %d %s, want 200 and its result", c.Status, c.Body)
		}
		s.Do("GET", "/v1/invocations/none", "").Want(t, "unknown id", 404, "Request.NotFound")
	})
}

func TestInvokeIsCancelledWhenItsCallerGoesUnlessItHasAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name   string
			header []string
			want   string
		}{
			{"no key", nil, "Script.Cancelled"},
			{"a key", []string{"Idempotency-Key", "k"}, ""},
		} {
			var outcome atomic.Value
			s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
				r := runnertest.Work(time.Second)(ctx, inv)
				outcome.Store(r)
				return r
			}), Tenants: runnertest.Tenants("acme")})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := s.Send(ctx, "POST", tasktest.Path("acme"), ``, test.header...); err == nil {
				t.Fatal("the caller has not gone")
			}
			cancel()
			time.Sleep(time.Minute) // of fake time
			got := ""
			if e := outcome.Load().(*runtime.Result).Error; e != nil {
				got = string(e.Type)
			}
			if got != test.want {
				t.Errorf("%s: got %q, want %q", test.name, got, test.want)
			}
		}
	})
}

func TestCancelOfAWaitingInvocationRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return runnertest.Work(time.Second)(ctx, inv)
		}), Tenants: runnertest.Tenants("acme"), Limits: task.Limits{Concurrency: 1, QueueLength: 1}})
		first, second := s.Begin("acme", ``), s.Begin("acme", ``)
		r := s.Invoke("acme", ``)
		r.Want(t, "full", 429, "Tenant.Throttled")
		if r.Header.Get("Retry-After") == "" || r.Field("error.retryable") != true {
			t.Errorf("got %v %s, want Retry-After", r.Header, r.Body)
		}
		if c := s.Do("DELETE", "/v1/invocations/"+second, ""); c.Status != 200 || c.Field("result.error.type") != "Script.Cancelled" {
			t.Errorf("got %d %s, want Script.Cancelled at once", c.Status, c.Body)
		}
		s.Result(first)
		if runs.Load() != 1 {
			t.Errorf("got %d runs, want 1", runs.Load())
		}
	})
}

func TestInvokeWithTheSameKeyIsTheSameInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return runnertest.Work(time.Second)(ctx, inv)
		}), Tenants: runnertest.Tenants("acme", "other"), Retention: task.Retention{For: time.Hour}})
		replies := make(chan tasktest.Reply)
		for range 10 { // at the same time
			go func() { replies <- s.Invoke("acme", `{"a":1}`, "Idempotency-Key", "k") }()
		}
		first := <-replies
		for range 9 {
			if r := <-replies; r.Body != first.Body || r.Status != 200 {
				t.Errorf("got %d %s, want %s", r.Status, r.Body, first.Body)
			}
		}
		if r := s.Invoke("acme", `{"a":1}`, "Idempotency-Key", "k"); r.Body != first.Body { // later
			t.Errorf("got %s, want %s", r.Body, first.Body)
		}
		if runs.Load() != 1 {
			t.Errorf("got %d runs, want 1", runs.Load())
		}
		s.Invoke("acme", `{"a":2}`, "Idempotency-Key", "k").Want(t, "another event", 422, "Request.Conflict")
		s.Invoke("acme", ``, "Idempotency-Key", "").Want(t, "an empty key", 400, "Request.Invalid")
		for what, r := range map[string]tasktest.Reply{
			"another tenant": s.Invoke("other", `{"a":1}`, "Idempotency-Key", "k"),
			"another script": s.Do("POST", "/v1/tenants/acme/scripts/other/invocations", `{"a":1}`, "Idempotency-Key", "k"),
			"another key":    s.Invoke("acme", `{"a":1}`, "Idempotency-Key", "l"),
		} {
			if r.Status != 200 || r.ID() == first.ID() {
				t.Errorf("%s: got %s, want an invocation of its own", what, r.Body)
			}
		}
		time.Sleep(2 * time.Hour) // of fake time: the result isn't kept any more
		if r := s.Invoke("acme", `{"a":2}`, "Idempotency-Key", "k"); r.Status != 200 || r.ID() == first.ID() {
			t.Errorf("after its time: got %s, want a new invocation", r.Body)
		}
	})
}

func TestPanicIsAnErrorOfItsRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(func(context.Context, runtime.Invocation) *runtime.Result { panic("the host's secret") }),
			Tenants: runnertest.Tenants("a"), Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })})
		r := s.Invoke("a", ``)
		r.Want(t, "a run", 500, "Host.Internal")
		if strings.Contains(r.Body, "secret") {
			t.Errorf("got %s, want no word of the panic", r.Body)
		}
		answer, err := s.Internal.Get("http://localhost/metrics")
		if err != nil || answer.StatusCode != 500 {
			t.Fatalf("got %v %v, want 500", answer, err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	})
}
