package http_test

import (
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/httpmodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// harness is a process that runs scripts. It takes real time, as sockets do.
type harness struct {
	engine  *runtime.Engine
	client  *http.Client
	clock   *clock.Dual
	blocked atomic.Int64 // requests
	freed   chan lock.ReleaseResult
}

// newHarness lets tenants reach what allow lists.
func newHarness(t testing.TB, allow []string, change ...func(*http.Options)) *harness {
	t.Helper()
	h := &harness{clock: clock.NewDual(clock.System()), freed: make(chan lock.ReleaseResult, 1000)}
	o := http.Options{
		Policy: func(tenant.ID) http.Policy { return http.Policy{Allow: allow} },
		Events: http.Events{Blocked: func(tenant.ID) { h.blocked.Add(1) }},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if h.client, err = http.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.client.CloseIdle)
	locks, err := lock.New(h.clock, memory.New(h.clock), lock.MachineClock{}, lock.Options{
		Events: lock.Events{Release: func(r lock.ReleaseEvent) { h.freed <- r.Result }},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.engine = runtime.New(runtime.Config{Clock: h.clock, HostKind: "test", HostName: "testhost", Modules: []native.Module{
		coremodule.New(), deadlinemodule.New(), jsonmodule.New(), httpmodule.New(h.client), lockmodule.New(locks, lockmodule.Options{}),
		streammodule.New(streammodule.Options{}),
	}})
	return h
}

// run runs source, in which url is a variable.
func (h *harness) run(t testing.TB, url, source string, change ...func(*runtime.Invocation)) *runtime.Result {
	t.Helper()
	inv := runtime.Invocation{
		Tenant: "a", Script: "test.lua", Source: "local url = ...\n" + source, Event: url, Log: new(nativetest.Log),
	}
	for _, f := range change {
		f(&inv)
	}
	return h.engine.Run(t.Context(), inv)
}

// expect compares the result of source, as JSON, with want.
func (h *harness) expect(t testing.TB, url, want, source string) {
	t.Helper()
	r := h.run(t, url, source)
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

// raw starts a server on loopback that calls handle for each connection, with the
// beginning of a request, and closes the connection.
func raw(t testing.TB, handle func(c net.Conn, request string)) (url, address string) {
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
				handle(c, string(begin[:n]))
			}()
		}
	}()
	return "http://" + l.Addr().String(), l.Addr().String()
}
