package http_test

import (
	"crypto/x509"
	"fmt"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// broken violates the protocol as the path says.
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

func TestErrorsHaveCodesAndNameOnlyTheHost(t *testing.T) {
	url, address := serve(t, broken)
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := refusing.Addr().String()
	refusing.Close()
	dns := new(dnsServer)
	dns.set("private.test", "10.1.2.3")
	h := newHarness(t, []string{address, refused, "private.test", "nowhere.test"}, func(o *http.Options) {
		o.Resolver, o.RootCAs = dns.resolver(t), x509.NewCertPool()
	})
	for _, test := range []struct{ url, code, get, post string }{
		{"http://" + refused, "net_refused", "-,true", "no,true"},
		{"http://nowhere.test", "net_dns", "-,false", "no,false"},
		{"http://private.test", "net_blocked", "-,false", "no,false"},
		{"https://private.test", "net_blocked", "-,false", "no,false"},
		{"https://" + address, "net_tls", "-,false", "no,false"},
		{url + "/reset", "net_failed", "-,true", "unknown,false"},
		{url + "/nonsense", "net_failed", "-,true", "unknown,false"},
		{url + "/short", "net_failed", "-,true", "-,true"}, // the response has begun
	} {
		r := h.run(t, test.url, `
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
func TestErrorCauseHasNoURL(t *testing.T) {
	url, address := serve(t, broken)
	h := newHarness(t, []string{address})
	_, err := h.client.Do(t.Context(), "a", &http.Request{Method: "GET", URL: url + "/reset?token=secret"})
	known, ok := err.(*outcome.Error)
	if !ok || known.Cause == nil || strings.Contains(known.Cause.Error(), "secret") {
		t.Errorf("got %v, want a cause without the URL", err)
	}
}
