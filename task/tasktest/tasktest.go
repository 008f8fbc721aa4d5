// Package tasktest serves hosts to tests, in fake time.
package tasktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/task"
)

// Pipes is a listener whose connections are pipes, which work in fake time.
type Pipes struct {
	addr  net.Addr
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

// NewPipes returns a listener with an address of that IP.
func NewPipes(ip string) *Pipes {
	return &Pipes{addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}, conns: make(chan net.Conn), over: make(chan struct{})}
}

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error { p.once.Do(func() { close(p.over) }); return nil }

// Addr implements [net.Listener].
func (p *Pipes) Addr() net.Addr { return p.addr }

func (p *Pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// Served is a host that is being served in fake time.
type Served struct {
	*task.Host
	API, Internal *http.Client // of the two ports
	Stop          context.CancelFunc
	Ended         chan struct{} // closed when Serve has returned
	Err           error         // what Serve has returned
	t             *testing.T
	stoppedAt     time.Time
}

// Serve serves a host with the configuration until the test ends.
func Serve(t *testing.T, c task.Config) *Served {
	t.Helper()
	h, err := task.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &Served{Host: h, t: t, Ended: make(chan struct{})}
	api, internal := NewPipes("127.0.0.1"), NewPipes("127.0.0.1")
	s.API = &http.Client{Transport: &http.Transport{DialContext: api.dial, DisableKeepAlives: true}}
	s.Internal = &http.Client{Transport: &http.Transport{DialContext: internal.dial, DisableKeepAlives: true}}
	ctx, stop := context.WithCancel(context.Background())
	s.Stop = stop
	go func() {
		defer close(s.Ended)
		s.Err = h.Serve(ctx, api, internal)
		s.stoppedAt = time.Now()
	}()
	t.Cleanup(func() { stop(); <-s.Ended })
	return s
}

// Dial opens a connection to the API, on which a test sends what it wants.
func (s *Served) Dial() net.Conn {
	s.t.Helper()
	conn, err := s.API.Transport.(*http.Transport).DialContext(s.t.Context(), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// Took is how long the host took to stop, after since.
func (s *Served) Took(since time.Time) time.Duration {
	<-s.Ended
	return s.stoppedAt.Sub(since)
}

// Reply is the response to a request.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Field returns a field of the reply's JSON, such as "error.type".
func (r Reply) Field(path string) any {
	var v any
	if json.Unmarshal([]byte(r.Body), &v) != nil {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// ID is the id of the invocation that the reply is about.
func (r Reply) ID() string { id, _ := r.Field("id").(string); return id }

// Send sends a request; header is names and values in turn.
func (s *Served) Send(ctx context.Context, method, path, body string, header ...string) (Reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	answer, err := s.API.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return Reply{answer.StatusCode, answer.Header, string(bytes.TrimSpace(text))}, err
}

// Do sends a request that must have a reply.
func (s *Served) Do(method, path, body string, header ...string) Reply {
	s.t.Helper()
	r, err := s.Send(s.t.Context(), method, path, body, header...)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
	}
	return r
}

// Path is where the script job of a tenant is invoked.
func Path(id string) string { return "/v1/tenants/" + id + "/scripts/job/invocations" }

// Invoke runs the tenant's script and waits for it.
func (s *Served) Invoke(id, event string, header ...string) Reply {
	s.t.Helper()
	return s.Do("POST", Path(id), event, header...)
}

// Begin starts the tenant's script and returns the invocation's id.
func (s *Served) Begin(id, event string) string {
	s.t.Helper()
	r := s.Invoke(id, event, "Prefer", "respond-async")
	if r.Status != 202 {
		s.t.Fatalf("got %d %s, want 202", r.Status, r.Body)
	}
	return r.ID()
}

// Result waits for an invocation's end.
func (s *Served) Result(id string) Reply {
	s.t.Helper()
	return s.Do("GET", "/v1/invocations/"+id, "", "Prefer", "wait=3600")
}

// Want checks status and error type ("" for none) of a reply.
func (r Reply) Want(t *testing.T, what string, status int, kind string) {
	t.Helper()
	got, _ := r.Field("error.type").(string)
	if r.Status != status || got != kind {
		t.Errorf("%s: got %d %s, want %d %s", what, r.Status, r.Body, status, kind)
	}
}
