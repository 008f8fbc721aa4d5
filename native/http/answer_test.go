package http_test

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// bomb answers with more than anybody wants.
func bomb(w nethttp.ResponseWriter, r *nethttp.Request) {
	switch r.URL.Path {
	case "/gzip": // without an end
		w.Header().Set("Content-Encoding", "gzip")
		var member bytes.Buffer // any number of which are one text
		z := gzip.NewWriter(&member)
		_, _ = z.Write(make([]byte, 100_000))
		z.Close()
		for r.Context().Err() == nil {
			_, _ = w.Write(member.Bytes())
		}
	case "/length":
		w.Header().Set("Content-Length", "1000000000")
		w.(nethttp.Flusher).Flush()
		<-r.Context().Done() // the length alone is enough
	case "/header":
		w.Header().Set("X-Large", strings.Repeat("x", 100<<10))
	}
}

// broken answers as no server should.
func broken(w nethttp.ResponseWriter, r *nethttp.Request) {
	c, buffered, err := w.(nethttp.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	switch r.URL.Path {
	case "/reset":
		_ = c.(*net.TCPConn).SetLinger(0)
	case "/nonsense":
		_, _ = buffered.WriteString("220 mail.test ESMTP\r\n")
	case "/short":
		_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789")
	}
	buffered.Flush()
}

func TestABombIsStoppedAtTheLimit(t *testing.T) {
	url, address := serve(t, bomb)
	w := newWorld(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, BodyBytes: 1 << 20} }
	})
	w.expect(t, url, `["net_too_large","net_too_large","net_too_large"]`, `
		local function code(...) local ok, err = pcall(...) return err.code end
		return { code(native.http.get, url .. "/gzip"), code(native.http.get, url .. "/length"), code(native.http.get, url .. "/header") }`)
	r := w.run(t, url, `native.http.get(url .. "/gzip", { stream = true }).body:read_all(2^30)`, func(inv *runtime.Invocation) {
		inv.Limits.MemoryBytes = 4 << 20
	})
	if r.Error == nil || r.Error.Type != runtime.LimitExceeded {
		t.Errorf("got %v, want the memory limit", r.Error)
	}
}

func TestEachTroubleHasItsCodeAndNamesTheHostAlone(t *testing.T) {
	url, address := serve(t, broken)
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := refusing.Addr().String()
	refusing.Close()
	dns := new(names)
	dns.set("private.test", "10.1.2.3")
	w := newWorld(t, []string{address, nobody, "private.test", "nowhere.test"}, func(o *http.Options) {
		o.Resolver, o.RootCAs = dns.resolver(t), x509.NewCertPool()
	})
	for _, test := range []struct{ url, code, get, post string }{
		{"http://" + nobody, "net_refused", "-,true", "no,true"},
		{"http://nowhere.test", "net_dns", "-,false", "no,false"},
		{"http://private.test", "net_blocked", "-,false", "no,false"},
		{"https://private.test", "net_blocked", "-,false", "no,false"},
		{"https://" + address, "net_tls", "-,false", "no,false"},
		{url + "/reset", "net_failed", "-,true", "unknown,false"},
		{url + "/nonsense", "net_failed", "-,true", "unknown,false"},
		{url + "/short", "net_failed", "-,true", "-,true"}, // the answer has begun
	} {
		r := w.run(t, test.url, `
			local function try(verb)
				local ok, err = pcall(native.http[verb], url .. "?token=secret")
				assert(not ok)
				local text = tostring(err)
				assert(not text:find("secret") and not text:find("10.1.2") and not text:find("lookup") and not text:find("dial"), text)
				return err.code .. " " .. (err.applied or "-") .. "," .. tostring(err.retryable)
			end
			return { try("get"), try("post") }`)
		if got, want := string(r.JSON), fmt.Sprintf("[%q,%q]", test.code+" "+test.get, test.code+" "+test.post); got != want {
			t.Errorf("%s: got %s, %v, want %s", test.url, got, r.Error, want)
		}
	}
}

// The query of a URL may be a secret.
func TestTheCauseForTheLogHasNoURL(t *testing.T) {
	url, address := serve(t, broken)
	w := newWorld(t, []string{address})
	_, err := w.client.Do(t.Context(), "a", &http.Request{Method: "GET", URL: url + "/reset?token=secret"})
	known, ok := err.(*outcome.Error)
	if !ok || known.Cause == nil || strings.Contains(known.Cause.Error(), "secret") {
		t.Errorf("got %v, want a cause without the URL", err)
	}
}

func TestARequestIsNotSentTwiceUnlessThatIsSafe(t *testing.T) {
	asked := make(chan string, 100)
	var used atomic.Bool // the connection
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		asked <- r.Method
		if used.Swap(true) && r.URL.Path == "/close" { // without an answer
			c, _, _ := w.(nethttp.Hijacker).Hijack()
			c.Close()
		}
	})
	for _, test := range []struct {
		request string
		times   int
	}{
		{`native.http.post(url .. "/close")`, 1},
		{`native.http.delete(url .. "/close")`, 1},
		{`native.http.post(url .. "/close", { headers = { ["Idempotency-Key"] = "7" } })`, 2},
		{`native.http.get(url .. "/close")`, 2},
	} {
		w := newWorld(t, []string{address})
		used.Store(false)
		w.run(t, url, `native.http.get(url) pcall(function() `+test.request+` end)`)
		n := len(asked) - 1
		for len(asked) > 0 {
			<-asked
		}
		if n != test.times {
			t.Errorf("%s: sent %d times, want %d", test.request, n, test.times)
		}
	}
}

func TestBytesAreExact(t *testing.T) {
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(nethttp.StatusBadGateway)
		_, _ = w.Write(body)
	})
	w := newWorld(t, []string{address})
	w.expect(t, url, `[true,true,502,["a=1","b=2"]]`, `
		local data = "\000\255\128\n"
		local all = {}
		for i = 0, 255 do all[#all + 1] = string.char(i) end
		local long = table.concat(all):rep(1000)
		local r = native.http.put(url, { body = data })
		return { r.body == data, native.http.put(url, { body = long, stream = true }).body:read_all() == long, r.status, r.headers["set-cookie"] }`)
}

// Two tenants of one process.
func TestConnectionsOfTwoTenantsNeverMeet(t *testing.T) {
	asked := make(chan string, 10)
	url, address := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { asked <- r.RemoteAddr })
	w := newWorld(t, []string{address})
	as := func(id tenant.ID) {
		w.run(t, url, `native.http.get(url)`, func(inv *runtime.Invocation) { inv.Tenant = id })
	}
	var from []string
	for _, id := range []tenant.ID{"a", "a", "b", "a", "b"} {
		as(id)
		from = append(from, <-asked)
	}
	if from[0] != from[1] || from[0] != from[3] || from[2] != from[4] || from[0] == from[2] {
		t.Errorf("connections were %v, want one for each tenant", from)
	}
}

func TestAChangedPolicyCountsAtOnce(t *testing.T) {
	url, address := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	allow := []string{address}
	w := newWorld(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: allow} }
	})
	const get = `return (pcall(native.http.get, url))`
	w.expect(t, url, `true`, get)
	allow = nil
	w.expect(t, url, `false`, get)
	allow = []string{"nonsense entry"}
	r := w.run(t, url, `local _, err = pcall(native.http.get, url) return err.code`)
	if string(r.JSON) != `"internal"` || len(r.Incidents) != 1 || !strings.Contains(r.Incidents[0].Error(), "nonsense") {
		t.Errorf("got %s and %v, want the trouble with the policy in the log alone", r.JSON, r.Incidents)
	}
}

func TestWithoutAPolicyNobodyGetsOut(t *testing.T) {
	url, _ := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request has arrived") })
	w := newWorld(t, nil, func(o *http.Options) { o.Policy = nil })
	w.expect(t, url, `"net_blocked"`, `local _, err = pcall(native.http.get, url) return err.code`)
	if w.blocked.Load() != 1 {
		t.Errorf("%d blocked requests were counted, want 1", w.blocked.Load())
	}
}

// leap is a clock that leaps when it is told to.
type leap struct {
	clock.Clock
	offset atomic.Int64
}

func (c *leap) Now() clock.Instant {
	now := c.Clock.Now()
	now.Mono += time.Duration(c.offset.Load())
	return now
}

// A process that was stopped after the gate must not write afterwards; the
// timer that should end the call hasn't fired yet.
func TestBytesAreHeldBackOnceTheCallHasEnded(t *testing.T) {
	arrived := make(chan string, 10)
	server := httptest.NewTLSServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) { arrived <- r.Method }))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	plain, plainAddress := serve(t, server.Config.Handler.ServeHTTP)
	for _, url := range []string{plain, server.URL} {
		for _, warm := range []bool{false, true} {
			clk := &leap{Clock: clock.System()}
			stopped := false
			client, err := http.New(http.Options{RootCAs: roots, Policy: func(tenant.ID) http.Policy {
				if stopped { // the gate has been passed already
					clk.offset.Add(int64(time.Hour))
				}
				return http.Policy{Allow: []string{plainAddress, server.Listener.Addr().String()}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
			ctx := run.Context()
			if warm { // so that there is a connection
				answer, err := client.Do(ctx, "a", &http.Request{Method: "GET", URL: url})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := answer.ReadAll(stream.Caller{Context: ctx, CheckInterrupt: func() {}, Charge: func(int) {}, Step: func(int) {}}); err != nil {
					t.Fatal(err)
				}
				answer.Close()
				<-arrived
			}
			stopped = true
			for _, body := range []string{"", "x"} {
				_, err = client.Do(ctx, "a", &http.Request{Method: "POST", URL: url, Body: body})
				if known, ok := err.(*outcome.Error); !ok || known.Applied != outcome.AppliedNo {
					t.Errorf("%s, warm %v: got %v, want an error with applied no", url, warm, err)
				}
			}
			ctx.Stop()
			run.Close()
			client.CloseIdle()
		}
	}
	if len(arrived) > 0 {
		t.Errorf("%d requests have arrived after the end", len(arrived))
	}
}

func BenchmarkGet(b *testing.B) {
	url, address := serve(b, func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = io.WriteString(w, "hello") })
	b.Run("net/http", func(b *testing.B) {
		for b.Loop() {
			r, err := nethttp.Get(url)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.ReadAll(r.Body)
			r.Body.Close()
		}
	})
	b.Run("native.http", func(b *testing.B) {
		w := newWorld(b, []string{address})
		r := w.run(b, url, fmt.Sprintf(`for i = 1, %d do native.http.get(url) end`, b.N), func(inv *runtime.Invocation) {
			inv.Limits.Timeout = time.Hour
		})
		if r.Error != nil {
			b.Fatal(r.Error)
		}
	})
}
