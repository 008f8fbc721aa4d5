package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

// isolation is a request about what belongs to tenant a.
type isolation struct {
	method, path string
	own          int    // what a and an operator get
	absent       string // the path of the same request about what does not exist
}

func TestTokenIsForItsOwnTenantAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.hold(t, "a", "job", "owner-a")
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(20 * time.Second), Tenants: runnertest.Tenants("a", "b"), Table: table, Tokens: []api.Token{
			{SHA256: api.HashOf("token-a"), Tenant: "a"}, {SHA256: api.HashOf("token-b"), Tenant: "b"}, {SHA256: api.HashOf("token-o"), Operator: true},
		}})
		id := s.Invoke("a", ``, "Prefer", "respond-async", "Authorization", "Bearer token-a").ID()
		synctest.Wait()
		for _, test := range []isolation{
			{"POST", tasktest.Path("a"), 202, tasktest.Path("x")},
			{"GET", "/v1/invocations/" + id, 200, "/v1/invocations/x"},
			{"GET", "/v1/tenants/a/locks", 200, "/v1/tenants/x/locks"},
			{"DELETE", "/v1/tenants/a/locks/job?owner=other", 409, "/v1/tenants/x/locks/job?owner=other"},
			{"DELETE", "/v1/invocations/" + id, 202, "/v1/invocations/x"},
		} {
			test.check(t, s, strings.NewReplacer(`\"x\"`, "?", `\"a\"`, "?", `\"`+id+`\"`, "?"))
		}
		if r := s.Do("GET", "/v1/invocations", ``, "Authorization", "Bearer token-b"); r.Body != `{"invocations":[]}` {
			t.Errorf("b's list: got %s, want none", r.Body)
		}
	})
}

// check sends the request as b, without a valid token, and at last as those who may.
func (i isolation) check(t *testing.T, s *tasktest.Served, names *strings.Replacer) {
	what := i.method + " " + i.path
	send := func(path string, header ...string) tasktest.Reply {
		return s.Do(i.method, path, ``, append(header, "Prefer", "respond-async")...)
	}
	for _, bad := range [][]string{
		nil, {"Authorization", ""}, {"Authorization", "Bearer "}, {"Authorization", "Bearer token-x"}, {"Authorization", "token-a"},
		{"Authorization", "Basic token-a"}, {"Authorization", "Bearer " + api.HashOf("token-a")},
		{"Authorization", "Bearer token-a", "Authorization", "Bearer token-a"},
	} {
		send(i.path, bad...).Want(t, fmt.Sprint(what, bad), 401, "Request.Unauthorized")
	}
	foreign, absent := send(i.path, "Authorization", "Bearer token-b"), send(i.absent, "Authorization", "Bearer token-b")
	if foreign.Status != 404 || foreign.Status != absent.Status || names.Replace(foreign.Body) != names.Replace(absent.Body) {
		t.Errorf("%s by b: got %d %s, want what is answered for nothing: %d %s", what, foreign.Status, foreign.Body, absent.Status, absent.Body)
	}
	for _, token := range []string{"token-o", "token-a"} {
		if r := send(i.path, "Authorization", "bearer "+token); r.Status != i.own && r.Status != 200 { // 200: cancelled before
			t.Errorf("%s by %s: got %d %s, want %d", what, token, r.Status, r.Body, i.own)
		}
	}
}

func TestHandlerWithoutTokensIsForThisMachineAlone(t *testing.T) {
	c := task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a")}
	h, err := task.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range []string{"0.0.0.0", "::", "10.0.0.1"} {
		if err := h.Serve(t.Context(), tasktest.NewPipes(ip), tasktest.NewPipes("0.0.0.0")); err == nil || !strings.Contains(err.Error(), "tokens") {
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
		r := httptest.NewRequest("POST", tasktest.Path("a"), http.NoBody)
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

func TestInternalHandlerAnswersUnderAnyNameAndNothingElse(t *testing.T) {
	h, err := task.New(task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a"), Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"10.0.3.7:9090", "task.internal", ""} {
		r := httptest.NewRequest("GET", "/readyz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.InternalHandler().ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%q: got %d %s, want 200", host, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		h.Handler().ServeHTTP(w, r)
		if w.Code != 404 {
			t.Errorf("the API answers %s with %d, want 404", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	h.InternalHandler().ServeHTTP(w, httptest.NewRequest("POST", tasktest.Path("a"), nil))
	if w.Code != 404 {
		t.Errorf("the internal port runs scripts: got %d", w.Code)
	}
}
