package task

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
)

// connect opens a connection to the API on which a test sends what it wants.
func (s *served) connect() net.Conn {
	s.t.Helper()
	conn, err := s.api.Transport.(*http.Transport).DialContext(s.t.Context(), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

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

func TestNobodyIsWaitedForWhoDoesNotSendHisBody(t *testing.T) {
	tokens := []Token{{SHA256: tokenOf("token-a"), Tenant: "a"}}
	for _, test := range []struct {
		name, path, header string
		status             int
		within             time.Duration
	}{
		{"without a token", invocations("a"), "", 401, unreadTime},
		{"with a token that is wrong", invocations("a"), "Authorization: Bearer x\r\n", 401, unreadTime},
		{"of another tenant", invocations("b"), "Authorization: Bearer token-a\r\n", 404, unreadTime},
		{"where nothing is", "/nothing", "Authorization: Bearer token-a\r\n", 404, unreadTime},
		{"a compressed one", invocations("a"), "Authorization: Bearer token-a\r\nContent-Encoding: gzip\r\n", 400, unreadTime},
		{"an event", invocations("a"), "Authorization: Bearer token-a\r\n", 400, bodyTime + unreadTime},
	} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			t.Run(test.name+", "+length, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					s := serveHost(t, Config{Engine: works(0), Tenants: tenantsNamed("a", "b"), Tokens: tokens})
					conn, from := s.connect(), time.Now()
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

// A client may ask for permission to send its body, long after the answer to
// its request before.
func TestTheTimeOfAnAnswerIsNotThatOfTheNextRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(2 * answerTime), Tenants: func() runtime.Directory {
			d := tenantsNamed("a")
			a := d["a"]
			a.Limits.Timeout = time.Hour
			d["a"] = a
			return d
		}()})
		conn := s.connect()
		answer := bufio.NewReader(conn)
		fmt.Fprintf(conn, "GET /v1/invocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answers(t, answer, 1)
		time.Sleep(answerTime * 3 / 2)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", invocations("a"))
		if got := answers(t, answer, 1); len(got) != 1 || got[0] != 100 {
			t.Fatalf("got %v, want 100", got)
		}
		fmt.Fprint(conn, "{}")
		if got := answers(t, answer, 1); len(got) != 1 || got[0] != 200 {
			t.Errorf("got %v, want 200", got)
		}
	})
}

func TestOddRequestsAreAnsweredPlainly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(echo), Tenants: tenantsNamed("a")})
		post := func(path, version, header, body string) string {
			return "POST " + path + " HTTP/" + version + "\r\nHost: localhost\r\n" + header + "\r\n" + body
		}
		job := invocations("a")
		for _, test := range []struct {
			name, text string
			want       []int
		}{
			{"HTTP/1.0", post(job, "1.0", "Content-Length: 2\r\n", "{}"), []int{200}},
			{"three at once", strings.Repeat(post(job, "1.1", "Content-Length: 2\r\n", "{}"), 3), []int{200, 200, 200}},
			{"in pieces", post(job, "1.1", "Transfer-Encoding: chunked\r\n", "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), []int{200}},
			{"bad pieces", post(job, "1.1", "Transfer-Encoding: chunked\r\n", "x\r\n"), []int{400}},
			{"two lengths", post(job, "1.1", "Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), []int{400}},
			{"a large header", post(job, "1.1", "X: "+strings.Repeat("x", 2*headerMax)+"\r\n", ""), []int{431}},
			{"a tenant with a slash", post("/v1/tenants/a%2fscripts%2fjob/scripts/job/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a tenant of other letters", post("/v1/tenants/%C3%A4/scripts/job/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a script above", post("/v1/tenants/a/scripts/%2e%2e%2fjob/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a script with a zero", post("/v1/tenants/a/scripts/job%00/invocations", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a slash at the end", post(job+"/", "1.1", "Content-Length: 0\r\n", ""), []int{404}},
			{"a key for two", post(job, "1.1", "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n", ""), []int{400}},
			{"a long key", post(job, "1.1", "Idempotency-Key: "+strings.Repeat("k", replayKeyMax+1)+"\r\nContent-Length: 0\r\n", ""), []int{400}},
		} {
			conn := s.connect()
			go io.WriteString(conn, test.text)
			if got := answers(t, bufio.NewReader(conn), len(test.want)); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: got %v, want %v", test.name, got, test.want)
			}
			conn.Close()
		}
		for _, method := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "GET", "DELETE"} {
			s.do(method, job, "").want(t, method, 404, "Request.NotFound")
		}
	})
}

func TestTheInternalPortAnswersUnderAnyNameAndNothingElse(t *testing.T) {
	h, err := New(Config{Engine: works(0), Tenants: tenantsNamed("a"), Metrics: http.NotFoundHandler()})
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
	h.InternalHandler().ServeHTTP(w, httptest.NewRequest("POST", invocations("a"), nil))
	if w.Code != 404 {
		t.Errorf("the internal port runs scripts: got %d", w.Code)
	}
}

func TestWhatIsKeptOfARequestIsSmallWhateverItsHeader(t *testing.T) {
	h, err := New(Config{Engine: works(0), Tenants: tenantsNamed("a")})
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
		t.Errorf("%d results keep %d bytes each, want no more than about %d", requests, grown/requests, recordBytes)
	}
	goruntime.KeepAlive(h)
}

func TestAnEventThatWaitsIsKeptAsItCameAndReadWhenItsRunBegins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: fakeEngine(echo), Tenants: tenantsNamed("a"), Limits: Limits{Concurrency: 1}})
		first, second := s.begin("a", `{"ms":1000}`), s.begin("a", `[[],[],[]]`)
		synctest.Wait()
		s.mu.Lock()
		one, two := s.known[first], s.known[second]
		if one.raw != nil || two.work.Event != nil || string(two.raw) != `[[],[],[]]` {
			t.Errorf("got %q of what runs, %v and %q of what waits, want the text of the latter alone", one.raw, two.work.Event, two.raw)
		}
		s.mu.Unlock()
		if got := s.result(second); got.field("result.value") != "job.lua [[] [] []] 30s" {
			t.Errorf("got %s, want the event", got.body)
		}
		if two.raw != nil {
			t.Error("the text is kept with the result")
		}
	})
}

func TestEventsOnTheirWayDoNotFillTheMemory(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := serveHost(t, Config{Engine: works(0), Tenants: tenantsNamed("a", "b"), Limits: Limits{QueueBytes: 10_000}})
		for range 4 { // of 2500 bytes that have come, and one that never does
			fmt.Fprintf(s.connect(), "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2501\r\n\r\n%2500s", invocations("a"), "")
		}
		synctest.Wait()
		r := s.invoke("a", `{}`)
		r.want(t, "one more", 429, "Tenant.Throttled")
		if r.header.Get("Retry-After") == "" {
			t.Error("got no Retry-After")
		}
		s.invoke("b", `{}`).want(t, "another tenant", 200, "")
		time.Sleep(bodyTime + time.Second)
		synctest.Wait()
		s.invoke("a", `{}`).want(t, "when they have been given up", 200, "")
		if n := len(s.intake.bytes); n != 0 {
			t.Errorf("got %v, want nothing to be counted", s.intake.bytes)
		}
	})
}

func TestAskingAgainToCancelDoesNotGiveARunMoreTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := serveHost(t, Config{Engine: stuck(release), Tenants: tenantsNamed("a")})
		id := s.begin("a", ``)
		synctest.Wait()
		from := time.Now()
		for range 20 {
			if r := s.do("DELETE", "/v1/invocations/"+id, ""); r.status == 200 {
				break
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(from); took > overdue+time.Second {
			t.Errorf("it has its result after %v, want %v", took, overdue)
		}
	})
}

// Everything takes its longest: a run doesn't come back, and on both ports
// somebody sends a request without an end.
func TestStoppingEndsBeforeTheKill(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := serveHost(t, Config{Engine: stuck(release), Tenants: tenantsNamed("a"), StopTimeout: 30 * time.Second})
		s.begin("a", ``)
		synctest.Wait()
		for _, client := range []*http.Client{s.api, s.internal} {
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
		s.stop()
		if took := s.took(from); took >= 30*time.Second {
			t.Errorf("it took %v, want less than the 30 s until the kill", took)
		}
	})
}

func TestASlowReaderOfResultsHoldsABatchBack(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		inBubble(t, func(t *testing.T) {
			var runs atomic.Int32
			in := strings.Repeat(`{"tenant":"a","script":"job"}`+"\n", 1000)
			r, w := io.Pipe()
			done := make(chan Summary)
			go func() {
				sum, _ := Batch{Engine: fakeEngine(func(context.Context, runtime.Invocation) *runtime.Result {
					runs.Add(1)
					return returns("1")
				}), Tenants: tenantsNamed("a"), Concurrency: 4, Ordered: ordered}.Run(t.Context(), nil, strings.NewReader(in), w)
				w.Close()
				done <- sum
			}()
			synctest.Wait()
			if n := runs.Load(); n > 60 {
				t.Errorf("ordered %v: %d lines were run for a reader who takes none, want about 40", ordered, n)
			}
			text, _ := io.ReadAll(r)
			if sum := <-done; sum.OK != 1000 || strings.Count(string(text), "\n") != 1000 {
				t.Errorf("ordered %v: got %+v, %d lines", ordered, sum, strings.Count(string(text), "\n"))
			}
		})
	}
}

func TestABatchTakesAnyEndOfLine(t *testing.T) {
	const one = `{"id":1,"tenant":"a","script":"job"}`
	for name, in := range map[string]string{
		"CRLF": one + "\r\n" + one + "\r\n", "no end": one + "\n" + one, "empty lines": "\n\r\n" + one + "\n \t\n" + one + "\n\n",
	} {
		inBubble(t, func(t *testing.T) {
			sum, err := Batch{Engine: works(0), Tenants: tenantsNamed("a")}.Run(t.Context(), nil, strings.NewReader(in), io.Discard)
			if err != nil || sum.OK != 2 || sum.Failed != 0 {
				t.Errorf("%s: got %+v, %v, want 2", name, sum, err)
			}
		})
	}
}

func TestTheLongerPartOfATraceIsNotTaken(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	h := http.Header{"Traceparent": {"00-" + id + "-00f067aa0ba902b7-01-" + strings.Repeat("x", traceParentMax)}}
	if got := traceID(h); got != "" {
		t.Errorf("got %q, want none", got)
	}
}
