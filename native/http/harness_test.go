package http_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/httpmodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// world is a process that runs scripts in real time, because sockets take it.
type world struct {
	engine  *runtime.Engine
	client  *http.Client
	clock   *clock.Dual
	blocked atomic.Int64 // requests
	freed   chan lock.ReleaseResult
}

// newWorld lets tenants reach what allow lists.
func newWorld(t testing.TB, allow []string, change ...func(*http.Options)) *world {
	t.Helper()
	w := &world{clock: clock.NewDual(clock.System()), freed: make(chan lock.ReleaseResult, 1000)}
	o := http.Options{
		Policy: func(tenant.ID) http.Policy { return http.Policy{Allow: allow} },
		Events: http.Events{Blocked: func(tenant.ID) { w.blocked.Add(1) }},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if w.client, err = http.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.CloseIdle)
	locks, err := lock.New(w.clock, memory.New(w.clock), lock.MachineClock{}, lock.Options{
		Events: lock.Events{Release: func(r lock.ReleaseEvent) { w.freed <- r.How }},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.engine = runtime.New(runtime.Config{Clock: w.clock, HostKind: "test", HostName: "testhost", Modules: []native.Module{
		coremodule.New(), deadlinemodule.New(), jsonmodule.New(), httpmodule.New(w.client), lockmodule.New(locks, lockmodule.Options{}),
		streammodule.New(streammodule.Options{}),
	}})
	return w
}

// run runs source, which finds url in the variable of that name.
func (w *world) run(t testing.TB, url, source string, change ...func(*runtime.Invocation)) *runtime.Result {
	t.Helper()
	inv := runtime.Invocation{
		Tenant: "a", Script: "test.lua", Source: "local url = ...\n" + source, Event: url, Log: new(nativetest.Log),
	}
	for _, f := range change {
		f(&inv)
	}
	return w.engine.Run(t.Context(), inv)
}

// expect compares the result of source, as JSON, with want.
func (w *world) expect(t testing.TB, url, want, source string) {
	t.Helper()
	r := w.run(t, url, source)
	if r.Error != nil {
		t.Errorf("%v\n%s", r.Error, source)
	} else if string(r.JSON) != want {
		t.Errorf("got %s, want %s\n%s", r.JSON, want, source)
	}
}

// serve starts a server on loopback and returns its URL and its address.
func serve(t testing.TB, h nethttp.HandlerFunc) (url, address string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, s.Listener.Addr().String()
}

// raw starts a server on loopback that does with each connection what answer
// says, once a first piece of a request is there, and closes it.
func raw(t testing.TB, answer func(c net.Conn, request string)) (url, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				begin := make([]byte, 4096)
				n, _ := c.Read(begin)
				answer(c, string(begin[:n]))
			}()
		}
	}()
	return "http://" + l.Addr().String(), l.Addr().String()
}

// names is a DNS server on loopback that gives the addresses of names, which
// may change, and counts the questions.
type names struct {
	mu    sync.Mutex // guards what follows
	addrs map[string][]netip.Addr
	asked []string
}

func (n *names) set(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addrs == nil {
		n.addrs = map[string][]netip.Addr{}
	}
	n.addrs[name] = nil
	for _, a := range addrs {
		n.addrs[name] = append(n.addrs[name], netip.MustParseAddr(a))
	}
}

func (n *names) questions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

func (n *names) resolver(t testing.TB) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		question := make([]byte, 4096)
		for {
			size, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if answer := n.answer(question[:size]); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answer is nil for the name silent.test.
func (n *names) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, name)
	if name == "silent.test" {
		return nil
	}
	m.Response = true
	m.Additionals = nil
	addrs, ok := n.addrs[name]
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	answer, _ := m.Pack()
	return answer
}

// inside is a network within a bubble of fake time: whatever is dialled leads
// to one server.
type inside struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *inside) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *inside) Close() error   { n.once.Do(func() { close(n.closed) }); return nil }
func (n *inside) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

func (n *inside) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// modules are native.http, and native.lock, inside a bubble. Scripts can reach
// https://api.example.com and other names of example.com.
func modules(t *testing.T, clk *clock.Dual) []native.Module {
	network := &inside{conns: make(chan net.Conn), closed: make(chan struct{})}
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

// api is the server that scripts talk to inside a bubble.
func api(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body) // only then is the connection watched
	switch r.URL.Path {
	case "/echo", "/echo/é b": // what was asked, as JSON
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
