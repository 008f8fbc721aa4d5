package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// echo returns the event, or what its field "as" says.
func echo(ctx context.Context, inv runtime.Invocation) *runtime.Result {
	event, _ := inv.Event.(value.Map)
	if kind, ok := event["as"].(string); ok {
		return &runtime.Result{Error: runtime.Errorf(runtime.ErrorType(kind), "as asked")}
	}
	if d, ok := event["ms"].(float64); ok {
		return works(time.Duration(d)*time.Millisecond)(ctx, inv)
	}
	return returns(fmt.Sprintf("%q", fmt.Sprint(inv.Script, " ", inv.Event, " ", inv.Limits.Timeout)))
}

func TestAnInvocationIsAnsweredWithItsResult(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(echo), Tenants: tenantsNamed("acme")})
		for _, test := range []struct{ path, body, value string }{
			{"job", `{"a":1}`, "job.lua map[a:1] 30s"},
			{"job.lua", ``, "job.lua <nil> 30s"},
			{"deep/er", ` null `, "deep/er.lua <nil> 30s"},
		} {
			r := s.do("POST", "/v1/tenants/acme/scripts/"+test.path+"/invocations", test.body)
			if r.status != 200 || r.field("ok") != true || r.field("value") != test.value || r.id() == "" {
				t.Errorf("%s: got %d %s, want %q", test.path, r.status, r.body, test.value)
			}
		}
	})
}

func TestErrorsHaveTheStatusOfTheirType(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(echo), Tenants: tenantsNamed("acme")})
		for _, kind := range []runtime.ErrorType{
			runtime.SyntaxError, runtime.RuntimeError, runtime.Raised, runtime.Timeout, runtime.LimitExceeded, runtime.Cancelled,
			runtime.NotSerializable, runtime.ResultTooLarge, runtime.HostInternal,
		} {
			s.invoke("acme", fmt.Sprintf(`{"as":%q}`, kind)).want(t, string(kind), kind.HTTPStatus(), string(kind))
		}
		s.invoke("nobody", ``).want(t, "unknown tenant", 404, "Tenant.Unknown")
		s.do("POST", "/v1/tenants/acme/scripts/none/invocations", ``).want(t, "unknown script", 404, "Script.NotFound")
		s.do("POST", "/v1/tenants/acme/scripts/%2e%2e%2fx/invocations", ``).want(t, "script outside", 404, "Script.NotFound")
		s.invoke("acme", `{`).want(t, "no JSON", 400, "Event.Invalid")
		s.invoke("acme", strings.Repeat(" ", runtime.EventBytesMax+1)).want(t, "too large", 413, "Event.TooLarge")
		s.invoke("acme", ``, "Content-Encoding", "gzip").want(t, "compressed", 400, "Request.Invalid")
		s.do("GET", invocations("acme"), ``).want(t, "wrong method", 404, "Request.NotFound")
		s.do("POST", "/v1/tenants/acme/scripts/work", ``).want(t, "no such path", 404, "Request.NotFound")
	})
}

func TestATimeoutCanOnlyBeShortened(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(echo), Tenants: tenantsNamed("acme")})
		for _, test := range []struct{ ms, value string }{
			{"1", "1ms"}, {"29999", "29.999s"}, {"30001", "30s"}, {"2160000000", "30s"}, {"9223372036854775807", "30s"},
		} {
			r := s.invoke("acme", ``, "X-Timeout-Ms", test.ms)
			if got, _ := r.field("value").(string); !strings.HasSuffix(got, " "+test.value) {
				t.Errorf("%s ms: got %s, want %s", test.ms, r.body, test.value)
			}
		}
		for _, ms := range []string{"0", "-1", "1.5", "9223372036854775808", "soon"} {
			s.invoke("acme", ``, "X-Timeout-Ms", ms).want(t, ms, 400, "Request.Invalid")
		}
		r := s.invoke("acme", `{"ms":5000}`, "X-Timeout-Ms", "100")
		r.want(t, "timed out", 504, "Script.Timeout")
		if message, _ := r.field("error.message").(string); !strings.Contains(message, "100ms") {
			t.Errorf("got %q, want the limit that fired", message)
		}
	})
}

func TestAnAsynchronousInvocationCanBeAskedForAndCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(time.Second), Tenants: tenantsNamed("acme", "other")})
		r := s.invoke("acme", ``, "Prefer", "wait=1, Respond-Async ;x=y")
		if r.status != 202 || r.header.Get("Location") != "/v1/invocations/"+r.id() || r.header.Get("Preference-Applied") != "respond-async" {
			t.Fatalf("got %d %v %s", r.status, r.header, r.body)
		}
		other := s.begin("other", ``)
		synctest.Wait()
		list := s.do("GET", "/v1/invocations?state=running", "")
		if !strings.Contains(list.body, r.id()) || !strings.Contains(list.body, other) {
			t.Errorf("got %s, want both", list.body)
		}
		if list := s.do("GET", "/v1/invocations?state=running&tenant=other", ""); strings.Contains(list.body, r.id()) {
			t.Errorf("got %s, want the other's alone", list.body)
		}
		s.do("GET", "/v1/invocations?state=lost", "").want(t, "unknown state", 400, "Request.Invalid")
		if c := s.do("DELETE", "/v1/invocations/"+other, ""); c.status != 202 {
			t.Errorf("cancel: got %d, want 202", c.status)
		}
		if got := s.result(other); got.field("state") != "finished" || got.field("result.error.type") != "Script.Cancelled" {
			t.Errorf("got %s, want Script.Cancelled", got.body)
		}
		if got := s.result(r.id()); got.field("result.value") != "done" {
			t.Errorf("got %s, want its result", got.body)
		}
		if c := s.do("DELETE", "/v1/invocations/"+r.id(), ""); c.status != 200 || c.field("result.value") != "done" {
			t.Errorf("cancel of what is over: got %d %s, want 200 and its result", c.status, c.body)
		}
		s.do("GET", "/v1/invocations/none", "").want(t, "unknown id", 404, "Request.NotFound")
	})
}

func TestACallerThatGoesCancelsItsRunUnlessItCanComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, test := range []struct {
			name   string
			header []string
			want   string
		}{
			{"no key", nil, "Script.Cancelled"},
			{"a key", []string{"Idempotency-Key", "k"}, ""},
		} {
			var outcome atomic.Value
			s := serveHost(t, Config{Engine: fakeEngine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
				r := works(time.Second)(ctx, inv)
				outcome.Store(r)
				return r
			}), Tenants: tenantsNamed("acme")})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := s.send(ctx, "POST", invocations("acme"), ``, test.header...); err == nil {
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

func TestAWaitingInvocationIsCancelledWithoutRunning(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var runs atomic.Int32
		s := serveHost(t, Config{Engine: fakeEngine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return works(time.Second)(ctx, inv)
		}), Tenants: tenantsNamed("acme"), Limits: Limits{Concurrency: 1, QueueLength: 1}})
		first, second := s.begin("acme", ``), s.begin("acme", ``)
		r := s.invoke("acme", ``)
		r.want(t, "full", 429, "Tenant.Throttled")
		if r.header.Get("Retry-After") == "" || r.field("error.retryable") != true {
			t.Errorf("got %v %s, want Retry-After", r.header, r.body)
		}
		if c := s.do("DELETE", "/v1/invocations/"+second, ""); c.status != 200 || c.field("result.error.type") != "Script.Cancelled" {
			t.Errorf("got %d %s, want Script.Cancelled at once", c.status, c.body)
		}
		s.result(first)
		if runs.Load() != 1 {
			t.Errorf("got %d runs, want 1", runs.Load())
		}
	})
}

func TestARequestWithTheSameKeyIsTheSameInvocation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var runs atomic.Int32
		s := serveHost(t, Config{Engine: fakeEngine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			runs.Add(1)
			return works(time.Second)(ctx, inv)
		}), Tenants: tenantsNamed("acme", "other"), Retention: Retention{For: time.Hour}})
		replies := make(chan reply)
		for range 10 { // at the same time
			go func() { replies <- s.invoke("acme", `{"a":1}`, "Idempotency-Key", "k") }()
		}
		first := <-replies
		for range 9 {
			if r := <-replies; r.body != first.body || r.status != 200 {
				t.Errorf("got %d %s, want %s", r.status, r.body, first.body)
			}
		}
		if r := s.invoke("acme", `{"a":1}`, "Idempotency-Key", "k"); r.body != first.body { // later
			t.Errorf("got %s, want %s", r.body, first.body)
		}
		if runs.Load() != 1 {
			t.Errorf("got %d runs, want 1", runs.Load())
		}
		s.invoke("acme", `{"a":2}`, "Idempotency-Key", "k").want(t, "another event", 422, "Request.Conflict")
		s.invoke("acme", ``, "Idempotency-Key", "").want(t, "an empty key", 400, "Request.Invalid")
		for what, r := range map[string]reply{
			"another tenant": s.invoke("other", `{"a":1}`, "Idempotency-Key", "k"),
			"another script": s.do("POST", "/v1/tenants/acme/scripts/other/invocations", `{"a":1}`, "Idempotency-Key", "k"),
			"another key":    s.invoke("acme", `{"a":1}`, "Idempotency-Key", "l"),
		} {
			if r.status != 200 || r.id() == first.id() {
				t.Errorf("%s: got %s, want an invocation of its own", what, r.body)
			}
		}
		time.Sleep(2 * time.Hour) // of fake time: the result isn't kept any more
		if r := s.invoke("acme", `{"a":2}`, "Idempotency-Key", "k"); r.status != 200 || r.id() == first.id() {
			t.Errorf("after its time: got %s, want a new invocation", r.body)
		}
	})
}

func TestResultsAreKeptWithinBoundsAndNoTenantPushesOutAnothers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		large := `"` + strings.Repeat("x", 10_000) + `"`
		for _, test := range []struct {
			name string
			keep Retention
		}{
			{"count", Retention{Count: 10}},
			{"bytes", Retention{Bytes: 10 * 11_500}},
		} {
			s := serveHost(t, Config{Engine: fakeEngine(func(context.Context, runtime.Invocation) *runtime.Result { return returns(large) }),
				Tenants: tenantsNamed("loud", "quiet"), Retention: test.keep})
			quiet := s.invoke("quiet", ``).id()
			var loud []string
			for range 50 {
				loud = append(loud, s.invoke("loud", ``).id())
			}
			if n := len(s.known); n < 8 || n > 10 {
				t.Errorf("%s: got %d results kept, want about 10", test.name, n)
			}
			if r := s.result(quiet); r.field("result.ok") != true {
				t.Errorf("%s: the quiet tenant's result is gone", test.name)
			}
			s.result(loud[0]).want(t, "the oldest of the loud one", 404, "Request.NotFound")
			s.stop()
			<-s.ended
		}
	})
}

func tokenOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// isolation is a request about what belongs to tenant a.
type isolation struct {
	method, path string
	own          int    // what a and an operator get
	absent       string // the same request about what nobody has
}

func TestATokenOpensItsOwnTenantAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		table := newTable(t)
		table.hold(t, "a", "job", "owner-a")
		s := serveHost(t, Config{Engine: works(20 * time.Second), Tenants: tenantsNamed("a", "b"), Table: table, Tokens: []Token{
			{SHA256: tokenOf("token-a"), Tenant: "a"}, {SHA256: tokenOf("token-b"), Tenant: "b"}, {SHA256: tokenOf("token-o"), Operator: true},
		}})
		id := s.invoke("a", ``, "Prefer", "respond-async", "Authorization", "Bearer token-a").id()
		synctest.Wait()
		for _, test := range []isolation{
			{"POST", invocations("a"), 202, invocations("x")},
			{"GET", "/v1/invocations/" + id, 200, "/v1/invocations/x"},
			{"GET", "/v1/tenants/a/locks", 200, "/v1/tenants/x/locks"},
			{"DELETE", "/v1/tenants/a/locks/job?owner=other", 409, "/v1/tenants/x/locks/job?owner=other"},
			{"DELETE", "/v1/invocations/" + id, 202, "/v1/invocations/x"},
		} {
			test.check(t, s, strings.NewReplacer(`\"x\"`, "?", `\"a\"`, "?", `\"`+id+`\"`, "?"))
		}
		if r := s.do("GET", "/v1/invocations", ``, "Authorization", "Bearer token-b"); r.body != `{"invocations":[]}` {
			t.Errorf("b's list: got %s, want none", r.body)
		}
	})
}

// check asks as b, as nobody, and at last as those who may.
func (i isolation) check(t *testing.T, s *served, names *strings.Replacer) {
	what := i.method + " " + i.path
	ask := func(path string, header ...string) reply {
		return s.do(i.method, path, ``, append(header, "Prefer", "respond-async")...)
	}
	for _, bad := range [][]string{
		nil, {"Authorization", ""}, {"Authorization", "Bearer "}, {"Authorization", "Bearer token-x"}, {"Authorization", "token-a"},
		{"Authorization", "Basic token-a"}, {"Authorization", "Bearer " + tokenOf("token-a")},
		{"Authorization", "Bearer token-a", "Authorization", "Bearer token-a"},
	} {
		ask(i.path, bad...).want(t, fmt.Sprint(what, bad), 401, "Request.Unauthorized")
	}
	foreign, absent := ask(i.path, "Authorization", "Bearer token-b"), ask(i.absent, "Authorization", "Bearer token-b")
	if foreign.status != 404 || foreign.status != absent.status || names.Replace(foreign.body) != names.Replace(absent.body) {
		t.Errorf("%s by b: got %d %s, want what is answered for nothing: %d %s", what, foreign.status, foreign.body, absent.status, absent.body)
	}
	for _, token := range []string{"token-o", "token-a"} {
		if r := ask(i.path, "Authorization", "bearer "+token); r.status != i.own && r.status != 200 { // 200: cancelled before
			t.Errorf("%s by %s: got %d %s, want %d", what, token, r.status, r.body, i.own)
		}
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	for name, token := range map[string]Token{
		"no hash":             {Tenant: "a", SHA256: "token"},
		"half a hash":         {Tenant: "a", SHA256: tokenOf("t")[:32]},
		"nobody's":            {SHA256: tokenOf("t")},
		"a tenant's and more": {Tenant: "a", Operator: true, SHA256: tokenOf("t")},
		"empty":               {Tenant: "a", SHA256: tokenOf("")},
		"unknown tenant's":    {Tenant: "b", SHA256: tokenOf("t")},
	} {
		if _, err := New(Config{Engine: works(0), Tenants: tenantsNamed("a"), Tokens: []Token{token}}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestWithoutTokensOnlyThisMachineIsAnswered(t *testing.T) {
	c := Config{Engine: works(0), Tenants: tenantsNamed("a")}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range []string{"0.0.0.0", "::", "10.0.0.1"} {
		if err := h.Serve(t.Context(), newPipes(ip), newPipes("0.0.0.0")); err == nil || !strings.Contains(err.Error(), "tokens") {
			t.Errorf("%s: got %v, want an error that asks for tokens", ip, err)
		}
	}
	for _, test := range []struct {
		name, host string
		header     []string
		want       int
	}{
		{"localhost", "localhost:8080", nil, 200},
		{"an address", "127.0.0.1:8080", nil, 200},
		{"another address", "[::1]", nil, 200},
		{"a name that was made to point here", "evil.example:8080", nil, 403},
		{"a web page", "localhost:8080", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
	} {
		r := httptest.NewRequest("POST", invocations("a"), http.NoBody)
		r.Host = test.host
		if len(test.header) > 0 {
			for i := 0; i < len(test.header); i += 2 {
				r.Header.Set(test.header[i], test.header[i+1])
			}
		}
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: got %d, want %d", test.name, w.Code, test.want)
		}
	}
}

func TestPanicsAreAnErrorOfTheirRequestAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(func(context.Context, runtime.Invocation) *runtime.Result { panic("the host's secret") }),
			Tenants: tenantsNamed("a"), Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })})
		r := s.invoke("a", ``)
		r.want(t, "a run", 500, "Host.Internal")
		if strings.Contains(r.body, "secret") {
			t.Errorf("got %s, want no word of the panic", r.body)
		}
		answer, err := s.internal.Get("http://localhost/metrics")
		if err != nil || answer.StatusCode != 500 {
			t.Fatalf("got %v %v, want 500", answer, err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	})
}

func TestATraceIsReadFromItsHeader(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for text, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                      id,
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": "",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":     "",
		"00-" + id: "", "": "",
	} {
		if got := traceID(http.Header{"Traceparent": {text}}); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
