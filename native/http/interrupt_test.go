package http_test

import (
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// soon bounds what happens at once, even on a busy machine.
const soon = 5 * time.Second

// stalling returns a server that stalls where the path says, until the connection
// is closed. It reports requests to received and such connections to closed.
func stalling(received, closed chan<- struct{}) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		received <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body) // only then is the connection watched
		switch r.URL.Path {
		case "/headers":
		case "/body":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "a part")
			w.(nethttp.Flusher).Flush()
		case "/chunks":
			_, _ = io.WriteString(w, "a line\n")
			w.(nethttp.Flusher).Flush()
		case "/after":
			_, _ = io.WriteString(w, "all")
			return
		}
		<-r.Context().Done()
		closed <- struct{}{}
	}
}

func TestCallEndsWithItsLeaseWhereverTheServerStalls(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		freed  lock.ReleaseResult
		closed bool // the server sees its connection closed
	}{
		"before the headers":                     {`native.http.get(url .. "/headers")`, lock.Freed, true},
		"before the headers of a write":          {`native.http.post(url .. "/headers", { body = "x" })`, lock.Kept, true},
		"in the body":                            {`native.http.get(url .. "/body")`, lock.Freed, true},
		"in the body of the response to a write": {`native.http.post(url .. "/chunks", { body = "x" })`, lock.Freed, true},
		"in a stream":                            {`native.http.get(url .. "/chunks", { stream = true }).body:read_all()`, lock.Freed, true},
		"in a line": {`local s = native.http.get(url .. "/body", { stream = true }).body
			for _ in s:lines() do end`, lock.Freed, true},
		"after the response":      {`native.http.post(url .. "/after", { body = "x" }) while true do end`, lock.Freed, false},
		"beside an unread stream": {`local s = native.http.get(url .. "/chunks", { stream = true }).body while true do end`, lock.Freed, true},
		"caught, again and again": {`while true do pcall(native.http.get, url .. "/headers") end`, lock.Freed, true},
		"in a coroutine":          {`coroutine.wrap(function() native.http.get(url .. "/headers") end)()`, lock.Freed, true},
	} {
		t.Run(name, func(t *testing.T) {
			received, closed := make(chan struct{}, 100), make(chan struct{}, 100)
			url, address := serve(t, stalling(received, closed))
			h := newHarness(t, []string{address})
			// The lease has to be long enough for the request to arrive.
			for lease := 100; ; lease *= 2 {
				err, lag := stopped(t, h, url, lease, test.script)
				t.Logf("lag %v", lag)
				if err != "deadline exceeded" || lag > soon {
					t.Errorf("got the error %q %v after the end", err, lag)
				}
				freed := <-h.freed
				if len(received) == 0 && lease < 10_000 {
					continue
				}
				if freed != test.freed {
					t.Errorf("the lease was %v, want %v", freed, test.freed)
				}
				break
			}
			if test.closed {
				await(t, closed)
			}
		})
	}
}

// stopped runs script under a lock and returns the error of its lease, and how
// long after its end.
func stopped(t *testing.T, h *harness, url string, lease int, script string) (text string, lag time.Duration) {
	t.Helper()
	r := h.run(t, url, fmt.Sprintf(`
		local before = native.time()
		local ok, err = pcall(native.lock.with, "a", { lease_ms = %d, wait_ms = 99 }, function() %s end)
		return { err, (native.time() - before) * 1000 - %d }`, lease, script, lease))
	var ms float64
	if _, err := fmt.Sscanf(string(r.JSON), "[%q,%f]", &text, &ms); err != nil {
		t.Fatalf("got %s, %v", r.JSON, r.Error)
	}
	return text, time.Duration(ms * float64(time.Millisecond))
}

// await waits until a server has seen its connection closed.
func await(t *testing.T, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(soon):
		t.Error("the server's connection is still open")
	}
}

// Nothing of these requests has been sent, so the lock of a write is released,
// except where the server has the beginning of it.
func TestCallEndsWithItsLeaseWhateverItWaitsFor(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dns := new(dnsServer)
	resolver := dns.resolver(t)
	allow := []string{"silent.test:80", silent.Addr().String(), "dial.test:80"}
	const post = `native.http.post(url, { body = ("x"):rep(6 * 2^20) })`
	for name, test := range map[string]struct {
		url    string
		change func(*http.Options)
		freed  lock.ReleaseResult
	}{
		"the name":        {"http://silent.test", func(o *http.Options) { o.Resolver = resolver }, lock.Freed},
		"the connection":  {"http://dial.test", func(o *http.Options) { o.Dial = never }, lock.Freed},
		"TLS":             {"https://" + silent.Addr().String(), func(*http.Options) {}, lock.Freed},
		"room to send to": {"http://" + silent.Addr().String(), func(*http.Options) {}, lock.Kept},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, allow, test.change)
			for lease := 100; ; lease *= 2 {
				if err, lag := stopped(t, h, test.url, lease, post); err != "deadline exceeded" || lag > soon {
					t.Errorf("got the error %q %v after the end", err, lag)
				}
				if freed := <-h.freed; freed == test.freed {
					break
				} else if test.freed == lock.Freed || lease > 10_000 {
					t.Fatalf("the lease was %v, want %v", freed, test.freed)
				}
			}
		})
	}
}

// never is a network where no connection is ever made.
func never(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeoutsLeakNothing(t *testing.T) {
	closed := make(chan struct{}, 10_000)
	url, address := serve(t, stalling(make(chan struct{}, 10_000), closed))
	before := goleak.IgnoreCurrent()
	h := newHarness(t, []string{address})
	h.expect(t, url, `200`, `
		local n = 0
		for i = 1, 50 do
			for _, path in ipairs{ "/headers", "/body", "/chunks" } do
				local ok, err = pcall(native.deadline.with, 3, native.http.get, url .. path)
				if not ok and err == "deadline exceeded" then n = n + 1 end
			end
			local ok, err = pcall(native.http.post, url .. "/headers", { timeout_ms = 3 })
			if not ok and err.code == "net_timeout" then n = n + 1 end
		end
		return n`)
	h.client.CloseIdle()
	goleak.VerifyNone(t, before)
}

func TestStreamIsClosedWithItsRun(t *testing.T) {
	closed := make(chan struct{}, 10)
	url, address := serve(t, stalling(make(chan struct{}, 10_000), closed))
	for _, end := range []string{`return 1`, `error("x")`, `while true do end`} {
		h := newHarness(t, []string{address}, func(o *http.Options) {
			o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, InFlight: 1} }
		})
		h.run(t, url, `local r = native.http.get(url .. "/chunks", { stream = true }) `+end, func(inv *runtime.Invocation) {
			inv.Limits.Timeout = 300 * time.Millisecond
		})
		await(t, closed)
		// Its place among those in flight is free again.
		h.expect(t, url, `"all"`, `return native.http.get(url .. "/after").body`)
	}
}

func TestCallEndsWhenTheRunIsCancelled(t *testing.T) {
	closed := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		cancel()
		stalling(make(chan struct{}, 10_000), closed)(w, r)
	})
	h := newHarness(t, []string{address})
	r := h.engine.Run(ctx, runtime.Invocation{Tenant: "a", Script: "test.lua", Source: `native.http.get(...)`, Event: url + "/headers"})
	if r.Error == nil || r.Error.Type != runtime.Cancelled {
		t.Errorf("got %v", r.Error)
	}
	await(t, closed)
}
