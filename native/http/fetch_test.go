package http_test

import (
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
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestRequestIsSentTwiceOnlyIfThatIsSafe(t *testing.T) {
	received := make(chan string, 100)
	var used atomic.Bool // the connection
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		received <- r.Method
		if used.Swap(true) && r.URL.Path == "/close" { // without a response
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
		h := newHarness(t, []string{address})
		used.Store(false)
		h.run(t, url, `native.http.get(url) pcall(function() `+test.request+` end)`)
		n := len(received) - 1
		for len(received) > 0 {
			<-received
		}
		if n != test.times {
			t.Errorf("%s: sent %d times, want %d", test.request, n, test.times)
		}
	}
}

func TestBodiesAreExact(t *testing.T) {
	url, address := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(nethttp.StatusBadGateway)
		_, _ = w.Write(body)
	})
	h := newHarness(t, []string{address})
	h.expect(t, url, `[true,true,502,["a=1","b=2"]]`, `
		local data = "\000\255\128\n"
		local all = {}
		for i = 0, 255 do all[#all + 1] = string.char(i) end
		local long = table.concat(all):rep(1000)
		local r = native.http.put(url, { body = data })
		return { r.body == data, native.http.put(url, { body = long, stream = true }).body:read_all() == long, r.status, r.headers["set-cookie"] }`)
}

func TestRedirectIsAnOutcome(t *testing.T) {
	url, address := raw(t, func(c net.Conn, request string) {
		to := ""
		switch path := strings.Fields(request)[1]; path {
		case "/unknown":
			to = "http://nowhere.test/"
		case "/reset":
			to = "/gone"
		case "/bad":
			to = "http://[bad"
		case "/space":
			to = "/echo?a b"
		case "/gone":
			return
		default:
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
			return
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 307 X\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", to)
	})
	h := newHarness(t, []string{address, "nowhere.test"}, func(o *http.Options) { o.Resolver = new(dnsServer).resolver(t) })
	h.expect(t, url, `["net_dns -","net_failed unknown","net_failed -","/echo?a%20b"]`, `
		local function try(path)
			local ok, got = pcall(native.http.post, url .. path, { body = "x" })
			return ok and got.body or got.code .. " " .. (got.applied or "-")
		end
		return { try("/unknown"), try("/reset"), try("/bad"), try("/space") }`)
}

// The server responds before it has read all, and the call has returned.
func TestStreamWhileTheRequestIsBeingSentKeepsTheLock(t *testing.T) {
	read := make(chan struct{})
	url, address := raw(t, func(c net.Conn, request string) {
		if strings.Contains(request, "/all") {
			for !strings.HasSuffix(request, "end") {
				more := make([]byte, 4096)
				n, _ := c.Read(more)
				request += string(more[:n])
			}
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
		<-read
	})
	defer close(read)
	h := newHarness(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, BodyBytes: 1 << 26} }
	})
	for _, test := range []struct {
		request string
		freed   lock.ReleaseResult
	}{
		{`post(url .. "/", { body = ("x"):rep(2^25), stream = true })`, lock.Kept}, // more than a network holds
		{`post(url .. "/all", { body = "end", stream = true })`, lock.Freed},
		{`get(url .. "/", { stream = true })`, lock.Freed},
	} {
		r := h.run(t, url, `native.lock.with("a", function() assert(native.http.`+test.request+`.status == 200) end)`)
		if freed := <-h.freed; r.Error != nil || freed != test.freed {
			t.Errorf("%s: the lease was %v, want %v; %v", test.request, freed, test.freed, r.Error)
		}
		h.client.CloseIdle()
		h = newHarness(t, []string{address})
	}
}

// jumpingClock is a clock that can be put forward.
type jumpingClock struct {
	clock.Clock
	offset atomic.Int64
}

func (c *jumpingClock) Now() clock.Instant {
	now := c.Clock.Now()
	now.Mono += time.Duration(c.offset.Load())
	return now
}

// A process that was stopped after the interrupt check must not write afterwards,
// even if the timer that should end the call hasn't fired yet.
func TestRequestIsHeldBackOnceTheCallHasEnded(t *testing.T) {
	arrived := make(chan string, 10)
	server := httptest.NewTLSServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) { arrived <- r.Method }))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	plain, plainAddress := serve(t, server.Config.Handler.ServeHTTP)
	for _, url := range []string{plain, server.URL} {
		for _, warm := range []bool{false, true} {
			clk := &jumpingClock{Clock: clock.System()}
			stopped := false
			client, err := http.New(http.Options{RootCAs: roots, Policy: func(tenant.ID) http.Policy {
				if stopped { // after the interrupt check
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
				resp, err := client.Do(ctx, "a", &http.Request{Method: "GET", URL: url})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := resp.ReadAll(stream.Caller{Context: ctx, CheckInterrupt: func() {}, Charge: func(int) {}, Step: func(int) {}}); err != nil {
					t.Fatal(err)
				}
				resp.Close()
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
