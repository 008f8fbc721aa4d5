package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/task/tasktest"
)

// answers reads n answers from a connection, and returns their statuses.
func answers(t *testing.T, from *bufio.Reader, n int) (all []int) {
	t.Helper()
	for range n {
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Errorf("after %v: %v", all, err)
			return all
		}
		io.Copy(io.Discard, r.Body)
		all = append(all, r.StatusCode)
	}
	return all
}

func TestHandlerBoundsTheTimeOfABody(t *testing.T) {
	tokens := []api.Token{{SHA256: api.HashOf("token-a"), Tenant: "a"}}
	for _, test := range []struct {
		name, path, header string
		status             int
		within             time.Duration
	}{
		{"without a token", tasktest.Path("a"), "", 401, api.UnreadTimeout},
		{"with a token that is wrong", tasktest.Path("a"), "Authorization: Bearer x\r\n", 401, api.UnreadTimeout},
		{"of another tenant", tasktest.Path("b"), "Authorization: Bearer token-a\r\n", 404, api.UnreadTimeout},
		{"where nothing is", "/nothing", "Authorization: Bearer token-a\r\n", 404, api.UnreadTimeout},
		{"a compressed one", tasktest.Path("a"), "Authorization: Bearer token-a\r\nContent-Encoding: gzip\r\n", 400, api.UnreadTimeout},
		{"an event", tasktest.Path("a"), "Authorization: Bearer token-a\r\n", 400, api.BodyTimeout + api.UnreadTimeout},
	} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			t.Run(test.name+", "+length, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a", "b"), Tokens: tokens})
					conn, from := s.Dial(), time.Now()
					fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n", test.path, test.header, length)
					answer := bufio.NewReader(conn)
					if got := answers(t, answer, 1); len(got) != 1 || got[0] != test.status {
						t.Errorf("got %v, want %d", got, test.status)
					}
					if _, err := answer.ReadByte(); err != io.EOF {
						t.Errorf("got %v, want the connection to be closed", err)
					}
					if took := time.Since(from); took > 2*test.within {
						t.Errorf("it took %v, want about %v", took, test.within)
					}
				})
			})
		}
	}
}

// A client may ask for permission to send its body, long after the response to
// its request before.
func TestHandlerTimesEachRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(2 * api.ResponseTimeout),
			Tenants: runnertest.WithTimeout(runnertest.Tenants("a"), "a", time.Hour)})
		conn := s.Dial()
		answer := bufio.NewReader(conn)
		fmt.Fprintf(conn, "GET /v1/invocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answers(t, answer, 1)
		time.Sleep(api.ResponseTimeout * 3 / 2)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", tasktest.Path("a"))
		if got := answers(t, answer, 1); len(got) != 1 || got[0] != 100 {
			t.Fatalf("got %v, want 100", got)
		}
		fmt.Fprint(conn, "{}")
		if got := answers(t, answer, 1); len(got) != 1 || got[0] != 200 {
			t.Errorf("got %v, want 200", got)
		}
	})
}

func TestHandlerAnswersOddRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Engine(runnertest.Echo), Tenants: runnertest.Tenants("a")})
		post := func(path, version, header, body string) string {
			return "POST " + path + " HTTP/" + version + "\r\nHost: localhost\r\n" + header + "\r\n" + body
		}
		job := tasktest.Path("a")
		for _, test := range []struct {
			name, text string
			want       []int
		}{
			{"HTTP/1.0", post(job, "1.0", "Content-Length: 2\r\n", "{}"), []int{200}},
			{"three at once", strings.Repeat(post(job, "1.1", "Content-Length: 2\r\n", "{}"), 3), []int{200, 200, 200}},
			{"in pieces", post(job, "1.1", "Transfer-Encoding: chunked\r\n", "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), []int{200}},
			{"bad pieces", post(job, "1.1", "Transfer-Encoding: chunked\r\n", "x\r\n"), []int{400}},
			{"two lengths", post(job, "1.1", "Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), []int{400}},
			{"a large header", post(job, "1.1", "X: "+strings.Repeat("x", 2*api.HeaderMax)+"\r\n", ""), []int{431}},
			{"a tenant with a slash", post("/v1/tenants/a%2fscripts%2fjob/scripts/job/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a tenant of other letters", post("/v1/tenants/%C3%A4/scripts/job/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a script above", post("/v1/tenants/a/scripts/%2e%2e%2fjob/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a script with a zero", post("/v1/tenants/a/scripts/job%00/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a slash at the end", post(job+"/", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a key for two", post(job, "1.1", "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n", ""), []int{400}},
			{"a long key", post(job, "1.1", "Idempotency-Key: "+strings.Repeat("k", api.KeyMax+1)+"\r\nContent-Length: 0\r\n", ""), []int{400}},
		} {
			conn := s.Dial()
			go io.WriteString(conn, test.text)
			if got := answers(t, bufio.NewReader(conn), len(test.want)); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: got %v, want %v", test.name, got, test.want)
			}
			conn.Close()
		}
		for _, method := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "GET", "DELETE"} {
			s.Do(method, job, "").Want(t, method, 404, "Request.NotFound")
		}
	})
}

func TestHandlerKeepsLittleOfARequest(t *testing.T) {
	h, err := task.New(task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a")})
	if err != nil {
		t.Fatal(err)
	}
	const requests, junk = 500, 16 << 10
	heap := func() uint64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, handler := heap(), h.Handler()
	for range requests {
		text := strings.Repeat("x", junk)
		r := httptest.NewRequest("POST", "/v1/tenants/a/scripts/job.lua/invocations?"+text, nil)
		r.Host = "localhost"
		r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-"+text)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	if grown := int64(heap()) - int64(before); grown > requests*junk/2 {
		t.Errorf("%d results keep %d bytes each, want no more than about 1 KiB", requests, grown/requests)
	}
	goruntime.KeepAlive(h)
}

func TestHandlerBoundsTheBytesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tasktest.Serve(t, task.Config{Engine: runnertest.Work(0), Tenants: runnertest.Tenants("a", "b"), Limits: task.Limits{QueueBytes: 10_000}})
		for range 4 { // of 2500 bytes that have come, and one that never does
			fmt.Fprintf(s.Dial(), "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2501\r\n\r\n%2500s", tasktest.Path("a"), "")
		}
		synctest.Wait()
		r := s.Invoke("a", `{}`)
		r.Want(t, "one more", 429, "Tenant.Throttled")
		if r.Header.Get("Retry-After") == "" {
			t.Error("got no Retry-After")
		}
		s.Invoke("b", `{}`).Want(t, "another tenant", 200, "")
		time.Sleep(api.BodyTimeout + time.Second)
		synctest.Wait()
		s.Invoke("a", `{}`).Want(t, "when they have been given up", 200, "")
		s.Invoke("a", strings.Repeat(" ", 10_000)).Want(t, "as many as are allowed, so none are counted any more", 200, "")
	})
}
