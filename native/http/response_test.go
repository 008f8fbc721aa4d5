package http_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// bomb sends more than any limit allows.
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

func TestResponseOverALimitIsRefused(t *testing.T) {
	url, address := serve(t, bomb)
	h := newHarness(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, BodyBytes: 1 << 20} }
	})
	h.expect(t, url, `["net_too_large","net_too_large","net_too_large"]`, `
		local function code(...) local ok, err = pcall(...) return err.code end
		return { code(native.http.get, url .. "/gzip"), code(native.http.get, url .. "/length"), code(native.http.get, url .. "/header") }`)
	r := h.run(t, url, `native.http.get(url .. "/gzip", { stream = true }).body:read_all(2^30)`, func(inv *runtime.Invocation) {
		inv.Limits.MemoryBytes = 4 << 20
	})
	if r.Error == nil || r.Error.Type != runtime.LimitExceeded {
		t.Errorf("got %v, want the memory limit", r.Error)
	}
}

// The connection of such a response belongs to the caller: only the server would
// end a read.
func TestResponseThatSwitchesProtocolsIsAnError(t *testing.T) {
	url, address := raw(t, func(c net.Conn, _ string) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nand more")
		_ = c.SetReadDeadline(time.Now().Add(soon))
		_, _ = io.Copy(io.Discard, c)
	})
	h := newHarness(t, []string{address})
	h.expect(t, url, `["net_failed -","net_failed -","net_failed unknown"]`, `
		local function code(verb, options)
			local ok, err = pcall(native.http[verb], url, options)
			return ok and "a response" or err.code .. " " .. (err.applied or "-")
		end
		return { code("get"), code("get", { stream = true }), code("post") }`)
}

func TestResponseThatNeverEndsItsHeaderIsAnError(t *testing.T) {
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
	h := newHarness(t, []string{address})
	h.expect(t, url, `["net_too_large","net_too_large"]`, `
		local function code(path)
			local ok, err = pcall(native.http.get, url .. path)
			return err.code
		end
		return { code("/"), code("/hints") }`)
}

func TestResponsesThatAreNotReadLeaveNoConnection(t *testing.T) {
	var open atomic.Int64
	url, address := raw(t, func(c net.Conn, _ string) {
		open.Add(1)
		defer open.Add(-1)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
		_, _ = io.Copy(io.Discard, c)
	})
	h := newHarness(t, []string{address})
	r := h.run(t, url, `
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

func TestStreamThatFailedIsNoLongerInFlight(t *testing.T) {
	url, address := serve(t, broken)
	h := newHarness(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: []string{address}, InFlight: 1} }
	})
	h.expect(t, url, `["net_failed","net_failed","net_failed"]`, `
		local codes = {}
		for i = 1, 3 do
			local s = native.http.get(url .. "/short", { stream = true }).body
			for _ = 1, 2 do -- the error is returned again, and nothing is held
				local ok, err = pcall(s.read_all, s)
				codes[i] = err.code
			end
		end
		return codes`)
}

// answers are responses of which a part is missing, or which no server means.
var answers = map[string]string{
	"short":                "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"a\":1}\n",
	"none":                 "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n",
	"no last chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n",
	"cut chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\":1}\n",
	"cut size":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n1",
	"cut trailer":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n0\r\n",
	"odd chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{\"a\":1}\n\r\n0\r\n\r\n",
	"two lengths":          "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 2\r\n\r\n{\"a\":1}\n",
	"negative length":      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{\"a\":1}\n",
	"gzip without its end": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped(`{"a":1}` + "\n")[:20],
	"gzip with bad sum":    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + badSum(zipped(`{"a":1}`+"\n")),
	"gzip with more":       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped(`{"a":1}`+"\n") + "more",
	"no gzip":              "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\n{\"a\":1}\n",
	"unknown coding":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n{\"a\":1}\n",
	"cut header":           "HTTP/1.1 200 OK\r\nContent-Le",
	"other protocol":       "SSH-2.0-OpenSSH_9.6\r\n",
	"nothing":              "",
}

func zipped(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // into memory
	_ = z.Close()
	return b.String()
}

func badSum(text string) string { return text[:len(text)-5] + "\x01" + text[len(text)-4:] }

func TestResponseThatIsNotWholeIsAnError(t *testing.T) {
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			url, address := raw(t, func(c net.Conn, _ string) { _, _ = io.WriteString(c, answer) })
			h := newHarness(t, []string{address})
			h.expect(t, url, `["net_failed","net_failed","net_failed","net_failed","net_failed"]`, `
				local function code(f)
					local ok, err = pcall(f)
					return ok and "a result" or err.code
				end
				local function stream() return native.http.get(url, { stream = true }).body end
				return {
					code(function() return native.http.get(url) end),
					code(function() return native.http.post(url, { body = "x" }) end),
					code(function() return stream():read_all() end),
					code(function() for _ in stream():lines() do end end),
					code(function() for _ in stream():json_lines() do end end),
				}`)
		})
	}
}

func TestErrorsOfJSONDescribeTheResponse(t *testing.T) {
	url, address := raw(t, func(c net.Conn, request string) {
		kind := "Content-Type: text/html; charset=x\r\n"
		if strings.Contains(request, "/none") {
			kind = ""
		}
		_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n"+kind+"Content-Length: 6\r\n\r\n<html>")
	})
	h := newHarness(t, []string{address})
	h.expect(t, url, `[true,true,true]`, `
		local function says(text, f)
			local ok, err = pcall(f)
			return not ok and err.message:find(text, 1, true) ~= nil or err.message
		end
		return {
			says('(status 502, content type "text/html; charset=x")', function() return native.http.get(url):json() end),
			says('(status 502, content type "text/html; charset=x")', function() for _ in native.http.get(url, { stream = true }).body:json_lines() do end end),
			says("(status 502, no content type)", function() return native.http.get(url .. "/none"):json() end),
		}`)
}
