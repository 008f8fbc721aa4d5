package http_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// The connection of such an answer is the caller's: nothing but the server would
// end a read.
func TestASwitchOfProtocolsIsNoAnswer(t *testing.T) {
	url, address := raw(t, func(c net.Conn, _ string) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nand more")
		_ = c.SetReadDeadline(time.Now().Add(soon))
		_, _ = io.Copy(io.Discard, c)
	})
	w := newWorld(t, []string{address})
	w.expect(t, url, `["net_failed -","net_failed -","net_failed unknown"]`, `
		local function code(verb, options)
			local ok, err = pcall(native.http[verb], url, options)
			return ok and "an answer" or err.code .. " " .. (err.applied or "-")
		end
		return { code("get"), code("get", { stream = true }), code("post") }`)
}

func TestAServerThatNeverComesToItsAnswerIsLeft(t *testing.T) {
	url, address := raw(t, func(c net.Conn, request string) {
		hint := "HTTP/1.1 100 Continue\r\n\r\n"
		if strings.Contains(request, "/hints") {
			hint = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
		}
		for {
			if _, err := io.WriteString(c, hint); err != nil {
				return
			}
		}
	})
	w := newWorld(t, []string{address})
	w.expect(t, url, `["net_too_large","net_too_large"]`, `
		local function code(path)
			local ok, err = pcall(native.http.get, url .. path)
			return err.code
		end
		return { code("/"), code("/hints") }`)
}

func TestAStreamThatBrokeOffGivesItsPlaceBack(t *testing.T) {
	url, address := serve(t, broken)
	w := newWorld(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, InFlight: 1} }
	})
	w.expect(t, url, `["net_failed","net_failed","net_failed"]`, `
		local codes = {}
		for i = 1, 3 do
			local s = native.http.get(url .. "/short", { stream = true }).body
			for _ = 1, 2 do -- it says so again, and holds nothing
				local ok, err = pcall(s.read_all, s)
				codes[i] = err.code
			end
		end
		return codes`)
}

// net/http goes on with a connection whose request was given up, for the next:
// with short times a script would have any number in the making, beyond its
// run and its tenant's share.
func TestAConnectionInTheMakingIsGivenUpWithItsRequest(t *testing.T) {
	begun, done := make(chan struct{}, 1000), make(chan struct{}, 1000)
	w := newWorld(t, []string{"a.test"}, func(o *http.Options) {
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			begun <- struct{}{}
			defer func() { done <- struct{}{} }()
			return never(ctx, "", "")
		}
	})
	for ms := 1; len(begun) == 0; ms *= 2 { // until there was time enough to begin
		r := w.run(t, "http://a.test", fmt.Sprintf(`for i = 1, 20 do pcall(native.http.get, url, { timeout_ms = %d }) end`, ms))
		if r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	for i := len(begun); i > 0 && !t.Failed(); i-- {
		await(t, done)
	}

	greeted := make(chan struct{}, 1000)
	url, address := raw(t, func(c net.Conn, hello string) { // and never agrees on TLS
		if hello == "" {
			return
		}
		greeted <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
		done <- struct{}{}
	})
	w = newWorld(t, []string{address})
	for ms := 10; len(greeted) == 0; ms *= 2 {
		r := w.run(t, strings.Replace(url, "http", "https", 1), fmt.Sprintf(`pcall(native.http.get, url, { timeout_ms = %d })`, ms))
		if r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	select {
	case <-done:
	case <-time.After(soon / 2): // half of what net/http takes
		t.Error("the server's connection is still open")
	}
}

// The server answers before it has read all, and the call is over.
func TestWhatIsStillBeingSentKeepsTheLock(t *testing.T) {
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
	w := newWorld(t, nil, func(o *http.Options) {
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
		r := w.run(t, url, `native.lock.with("a", function() assert(native.http.`+test.request+`.status == 200) end)`)
		if freed := <-w.freed; r.Error != nil || freed != test.freed {
			t.Errorf("%s: the lease was %v, want %v; %v", test.request, freed, test.freed, r.Error)
		}
		w.client.CloseIdle()
		w = newWorld(t, []string{address})
	}
}

func TestARedirectIsAnAnswerWhateverComesBehindIt(t *testing.T) {
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
	w := newWorld(t, []string{address, "nowhere.test"}, func(o *http.Options) { o.Resolver = new(names).resolver(t) })
	w.expect(t, url, `["net_dns -","net_failed unknown","net_failed -","/echo?a%20b"]`, `
		local function try(path)
			local ok, got = pcall(native.http.post, url .. path, { body = "x" })
			return ok and got.body or got.code .. " " .. (got.applied or "-")
		end
		return { try("/unknown"), try("/reset"), try("/bad"), try("/space") }`)
}

func TestAnswersNobodyReadsLeaveNoConnection(t *testing.T) {
	var open atomic.Int64
	url, address := raw(t, func(c net.Conn, _ string) {
		open.Add(1)
		defer open.Add(-1)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
		_, _ = io.Copy(io.Discard, c)
	})
	w := newWorld(t, []string{address})
	r := w.run(t, url, `
		for i = 1, 500 do native.http.get(url, { stream = true }).body:close() end
		local busy
		for i = 1, 101 do
			local ok, err = pcall(native.http.get, url, { stream = true })
			busy = err
		end
		return busy.code`, func(inv *runtime.Invocation) { inv.Limits.Timeout = time.Minute })
	if string(r.JSON) != `"net_busy"` {
		t.Errorf("got %s, %v", r.JSON, r.Error)
	}
	deadline := time.Now().Add(soon)
	for open.Load() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := open.Load(); n > 0 {
		t.Errorf("%d connections are left open", n)
	}
}
