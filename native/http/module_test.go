package http_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/httpmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestScripts(t *testing.T) { nativetest.Scripts(t, modules) }
func TestDocs(t *testing.T)    { nativetest.Docs(t, "../../docs/http.md", modules) }

// fakeNetwork is a network within a bubble of fake time: every connection leads to
// one server.
type fakeNetwork struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *fakeNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *fakeNetwork) Close() error { n.once.Do(func() { close(n.closed) }); return nil }

func (n *fakeNetwork) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

func (n *fakeNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// modules are native.http, and native.lock, inside a bubble of
// fake time. Scripts can reach
// https://api.example.com and other names of example.com.
func modules(t *testing.T, clk *clock.Dual) []native.Module {
	network := &fakeNetwork{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(api))
	server.Listener.Close()
	server.Listener = network
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client, err := http.New(http.Options{
		Policy: func(tenant.ID) http.Policy {
			return http.Policy{Allow: []string{"api.example.com", "*.example.com:8443"}, BodyBytes: 100_000, InFlight: 3}
		},
		RootCAs: roots, Dial: network.dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdle()
		server.CloseClientConnections()
		server.Close()
	})
	locks, err := lock.New(clk, memory.New(clk), lock.MachineClock{}, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return []native.Module{
		httpmodule.New(client), lockmodule.New(locks, lockmodule.Options{}), streammodule.New(streammodule.Options{}),
	}
}

// api is the server of scripts inside a bubble.
func api(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body) // net/http watches the connection only then
	switch r.URL.Path {
	case "/echo", "/echo/é b": // the request, as JSON
		w.Header().Set("Content-Type", "application/json")
		h := value.Map{}
		for name, values := range r.Header {
			h[strings.ToLower(name)] = strings.Join(values, "|")
		}
		text, _ := json.Encode(value.Map{
			"method": r.Method, "host": r.Host, "path": r.URL.Path, "query": r.URL.RawQuery, "body": fmt.Sprintf("%x", body), "headers": h,
		}, "", 1<<20)
		_, _ = w.Write(text)
	case "/users/42":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"Ada","tags":[]}`)
	case "/mark": // in front of the text, as some programs write it
		_, _ = io.WriteString(w, "\ufeff[1]")
	case "/users/43":
		w.WriteHeader(nethttp.StatusNotFound)
	case "/bytes":
		_, _ = w.Write([]byte("\x00\xff\x80\n"))
	case "/cookies":
		w.Header().Add("Set-Cookie", "a=1; Path=/")
		w.Header().Add("Set-Cookie", "b=2, 3")
		w.Header().Add("X-Many", "one")
		w.Header().Add("X-Many", "two")
	case "/status":
		var status int
		_, _ = fmt.Sscan(r.URL.RawQuery, &status)
		w.WriteHeader(status)
	case "/large":
		var n int
		_, _ = fmt.Sscan(r.URL.RawQuery, &n)
		if r.Method == nethttp.MethodHead {
			w.Header().Set("Content-Length", r.URL.RawQuery)
			return
		}
		for ; n > 0; n -= 1000 {
			_, _ = io.WriteString(w, strings.Repeat("x", min(n, 1000)))
		}
	case "/events", "/export": // a line a second
		for i := range 5 {
			fmt.Fprintf(w, "{\"n\":%d}\n", i+1)
			w.(nethttp.Flusher).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	case "/slow", "/orders": // never
		if r.URL.Path == "/orders" && r.Header.Get("Idempotency-Key") != "" {
			w.WriteHeader(nethttp.StatusCreated)
			return
		}
		<-r.Context().Done()
	case "/to":
		nethttp.Redirect(w, r, r.URL.RawQuery, nethttp.StatusFound)
	case "/keep":
		nethttp.Redirect(w, r, r.URL.RawQuery, nethttp.StatusTemporaryRedirect)
	case "/round":
		nethttp.Redirect(w, r, "/round", nethttp.StatusFound)
	default:
		w.WriteHeader(nethttp.StatusNotFound)
	}
}
