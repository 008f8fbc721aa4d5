package task

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine runs what a test wants instead of a script.
type fakeEngine func(context.Context, runtime.Invocation) *runtime.Result

func (f fakeEngine) Run(ctx context.Context, inv runtime.Invocation) *runtime.Result {
	r := f(ctx, inv)
	r.ID = inv.ID
	return r
}

// returns is the result of a script that returned v.
func returns(v string) *runtime.Result { return &runtime.Result{JSON: []byte(v)} }

// works is a script that takes so long, and stops when it is cancelled or at
// its time limit.
func works(d time.Duration) fakeEngine {
	return func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
		limit := inv.Limits.WithDefaults().Timeout
		timer := time.NewTimer(min(d, limit))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return &runtime.Result{Error: causeError(context.Cause(ctx))}
		case <-timer.C:
		}
		if d > limit {
			return &runtime.Result{Error: runtime.Errorf(runtime.Timeout, "the run took longer than its timeout of %v", limit)}
		}
		return returns(`"done"`)
	}
}

// tenantsNamed are tenants with the scripts work and other.
func tenantsNamed(ids ...string) runtime.Directory {
	d := runtime.Directory{}
	for _, id := range ids {
		scripts := fstest.MapFS{"job.lua": {Data: []byte("return 1")}, "other.lua": {Data: []byte("return 2")}, "deep/er.lua": {Data: []byte("return 3")}}
		d[tenant.ID(id)] = runtime.Tenant{ID: tenant.ID(id), Scripts: []fs.FS{scripts}}
	}
	return d
}

// pipes is a listener whose connections are pipes, in fake time.
type pipes struct {
	addr  net.Addr
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func newPipes(ip string) *pipes {
	return &pipes{addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}, conns: make(chan net.Conn), over: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return p.addr }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.over:
		return nil, fmt.Errorf("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// served is a host that is being served in fake time.
type served struct {
	*Host
	t             *testing.T
	api, internal *http.Client
	stop          context.CancelFunc
	ended         chan struct{} // closed when Serve has returned
	err           error
	stoppedAt     time.Time
}

// serveHost serves a host with the configuration until the test ends.
func serveHost(t *testing.T, c Config) *served {
	t.Helper()
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Host: h, t: t, ended: make(chan struct{})}
	api, internal := newPipes("127.0.0.1"), newPipes("127.0.0.1")
	s.api = &http.Client{Transport: &http.Transport{DialContext: api.dial, DisableKeepAlives: true}}
	s.internal = &http.Client{Transport: &http.Transport{DialContext: internal.dial, DisableKeepAlives: true}}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.ended)
		s.err = h.Serve(ctx, api, internal)
		s.stoppedAt = time.Now()
	}()
	t.Cleanup(func() { stop(); <-s.ended })
	return s
}

// took is how long the host took to stop, after since.
func (s *served) took(since time.Time) time.Duration {
	<-s.ended
	return s.stoppedAt.Sub(since)
}

// reply is what came back for a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// field returns a field of the reply's JSON, such as "error.type".
func (r reply) field(path string) any {
	var v any
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (r reply) id() string { id, _ := r.field("id").(string); return id }

// send sends a request; header is names and values in turn.
func (s *served) send(ctx context.Context, method, path, body string, header ...string) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	answer, err := s.api.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return reply{answer.StatusCode, answer.Header, string(bytes.TrimSpace(text))}, err
}

// do sends a request that has to be answered.
func (s *served) do(method, path, body string, header ...string) reply {
	s.t.Helper()
	r, err := s.send(s.t.Context(), method, path, body, header...)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
	}
	return r
}

func invocations(id string) string { return "/v1/tenants/" + id + "/scripts/job/invocations" }

// invoke runs the tenant's script and waits for it.
func (s *served) invoke(id, event string, header ...string) reply {
	s.t.Helper()
	return s.do("POST", invocations(id), event, header...)
}

// begin starts the tenant's script and returns the invocation's id.
func (s *served) begin(id, event string) string {
	s.t.Helper()
	r := s.invoke(id, event, "Prefer", "respond-async")
	if r.status != 202 {
		s.t.Fatalf("got %d %s, want 202", r.status, r.body)
	}
	return r.id()
}

// result waits for an invocation's end.
func (s *served) result(id string) reply {
	s.t.Helper()
	return s.do("GET", "/v1/invocations/"+id, "", "Prefer", "wait=3600")
}

// want checks status and error type ("" for none) of a reply.
func (r reply) want(t *testing.T, what string, status int, kind string) {
	t.Helper()
	got, _ := r.field("error.type").(string)
	if r.status != status || got != kind {
		t.Errorf("%s: got %d %s, want %d %s", what, r.status, r.body, status, kind)
	}
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
