package main

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/tenant"
)

// httpServer is the server behind native.http. Its connections are pipes, and
// the path of a request names its behavior.
type httpServer struct {
	probe  *probe
	client *http.Client
	server *nethttp.Server
	conns  chan net.Conn // to be accepted
	closed chan struct{}
	once   sync.Once
}

func newHTTPServer(p *probe) (*httpServer, error) {
	s := &httpServer{probe: p, conns: make(chan net.Conn), closed: make(chan struct{})}
	s.server = &nethttp.Server{Handler: nethttp.HandlerFunc(serveHTTP)}
	client, err := http.New(http.Options{
		Policy: func(tenant.ID) http.Policy {
			return http.Policy{Allow: []string{"api.test", "unreachable.test"}, InFlight: openMax}
		},
		Dial: s.dial,
	})
	if err != nil {
		return nil, err
	}
	s.client = client
	go func() { _ = s.server.Serve(s) }() // returns when it is closed
	return s, nil
}

// openMax is how many handles one run may have open. A handle whose opening is
// interrupted before the script has it stays open until the run ends.
const openMax = 1000

// dial connects to the server. Connecting to "unreachable.test" never completes.
func (s *httpServer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "unreachable.") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	here, there := net.Pipe()
	select {
	case s.conns <- there:
		return &pipe{here, s.probe}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// pipe reports each write of a request to the probe.
type pipe struct {
	net.Conn
	probe *probe
}

func (p *pipe) Write(b []byte) (int, error) {
	p.probe.requestWritten()
	return p.Conn.Write(b)
}

// Accept implements [net.Listener].
func (s *httpServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements [net.Listener].
func (s *httpServer) Addr() net.Addr { return &net.UnixAddr{Name: "api.test", Net: "pipe"} }

// Close implements [net.Listener].
func (s *httpServer) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *httpServer) close() {
	s.client.CloseIdle()
	_ = s.server.Close() // closing pipes does not fail
}

// serveHTTP responds at once, with a large body, with a part of it, bit by bit,
// or not at all.
func serveHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only then
	switch r.URL.Path {
	case "/quick":
		_, _ = io.WriteString(w, "[1]")
		return
	case "/lists":
		_, _ = io.WriteString(w, "["+strings.Repeat(`[1,{"a":null}],`, 2e5)+"1]")
		return
	case "/half":
		_, _ = io.WriteString(w, "[1]\n")
		w.(nethttp.Flusher).Flush()
	case "/drips":
		chunk := strings.Repeat("[1]\n", 1000)
		for clock.System().Sleep(r.Context(), time.Millisecond) == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
	<-r.Context().Done()
}
