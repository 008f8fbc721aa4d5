package http_test

import (
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestTenantsShareNoConnections(t *testing.T) {
	received := make(chan string, 10)
	url, address := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { received <- r.RemoteAddr })
	h := newHarness(t, []string{address})
	as := func(id tenant.ID) {
		h.run(t, url, `native.http.get(url)`, func(inv *runtime.Invocation) { inv.Tenant = id })
	}
	var from []string
	for _, id := range []tenant.ID{"a", "a", "b", "a", "b"} {
		as(id)
		from = append(from, <-received)
	}
	if from[0] != from[1] || from[0] != from[3] || from[2] != from[4] || from[0] == from[2] {
		t.Errorf("connections were %v, want one for each tenant", from)
	}
}

func TestPolicyChangesAtOnce(t *testing.T) {
	url, address := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {})
	allow := []string{address}
	h := newHarness(t, nil, func(o *http.Options) {
		o.Policy = func(tenant.ID) http.Policy { return http.Policy{Allow: allow} }
	})
	const get = `return (pcall(native.http.get, url))`
	h.expect(t, url, `true`, get)
	allow = nil
	h.expect(t, url, `false`, get)
	allow = []string{"nonsense entry"}
	r := h.run(t, url, `local _, err = pcall(native.http.get, url) return err.code`)
	if string(r.JSON) != `"internal"` || len(r.Incidents) != 1 || !strings.Contains(r.Incidents[0].Error(), "nonsense") {
		t.Errorf("got %s and %v, want the error of the policy in the log alone", r.JSON, r.Incidents)
	}
}

func TestPolicyAllowsNothingByDefault(t *testing.T) {
	url, _ := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request has arrived") })
	h := newHarness(t, nil, func(o *http.Options) { o.Policy = nil })
	h.expect(t, url, `"net_blocked"`, `local _, err = pcall(native.http.get, url) return err.code`)
	if h.blocked.Load() != 1 {
		t.Errorf("%d blocked requests were counted, want 1", h.blocked.Load())
	}
}

// net/http by itself goes on with a connection whose request has ended: with short
// timeouts a script could have any number in the making, even after its run.
func TestDialEndsWithItsRequest(t *testing.T) {
	begun, done := make(chan struct{}, 1000), make(chan struct{}, 1000)
	h := newHarness(t, []string{"a.test"}, func(o *http.Options) {
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			begun <- struct{}{}
			defer func() { done <- struct{}{} }()
			return never(ctx, "", "")
		}
	})
	for ms := 1; len(begun) == 0; ms *= 2 { // until there was time enough to begin
		r := h.run(t, "http://a.test", fmt.Sprintf(`for i = 1, 20 do pcall(native.http.get, url, { timeout_ms = %d }) end`, ms))
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
	h = newHarness(t, []string{address})
	for ms := 10; len(greeted) == 0; ms *= 2 {
		r := h.run(t, strings.Replace(url, "http", "https", 1), fmt.Sprintf(`pcall(native.http.get, url, { timeout_ms = %d })`, ms))
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
		h := newHarness(b, []string{address})
		r := h.run(b, url, fmt.Sprintf(`for i = 1, %d do native.http.get(url) end`, b.N), func(inv *runtime.Invocation) {
			inv.Limits.Timeout = time.Hour
		})
		if r.Error != nil {
			b.Fatal(r.Error)
		}
	})
}
