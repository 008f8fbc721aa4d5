package main

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/tenant"
)

// site is the server behind native.http, over pipes. What it does is named by
// the path.
type site struct {
	probe  *probe
	client *http.Client
	server *nethttp.Server
	calls  chan net.Conn // that are being accepted
	closed chan struct{}
	once   sync.Once
}

func newSite(p *probe) (*site, error) {
	s := &site{probe: p, calls: make(chan net.Conn), closed: make(chan struct{})}
	s.server = &nethttp.Server{Handler: nethttp.HandlerFunc(answer)}
	client, err := http.New(http.Options{
		Policy: func(tenant.ID) http.Policy {
			return http.Policy{Allow: []string{"api.test", "unreachable.test"}, InFlight: leftMax}
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

// leftMax is how much may be open in one run: what the end of a call cuts off
// between opening something and keeping it stays open until the run ends.
const leftMax = 1000

// dial connects with the server, but never with "unreachable.test".
func (s *site) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "unreachable.") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	here, there := net.Pipe()
	select {
	case s.calls <- there:
		return &pipe{here, s.probe}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// pipe tells the probe of each piece of a request that goes out.
type pipe struct {
	net.Conn
	probe *probe
}

func (p *pipe) Write(b []byte) (int, error) {
	p.probe.wrote()
	return p.Conn.Write(b)
}

// Accept makes the site a [net.Listener].
func (s *site) Accept() (net.Conn, error) {
	select {
	case c := <-s.calls:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Addr is nowhere.
func (s *site) Addr() net.Addr { return &net.UnixAddr{Name: "api.test", Net: "pipe"} }

// Close ends the listening.
func (s *site) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *site) close() {
	s.client.CloseIdle()
	_ = s.server.Close() // of pipes there is nothing to be told
}

// answer answers at once, with much, with a part, bit by bit, or not at all.
func answer(w nethttp.ResponseWriter, r *nethttp.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then is the connection watched
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
		for piece := strings.Repeat("[1]\n", 1000); r.Context().Err() == nil; time.Sleep(time.Millisecond) {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
	<-r.Context().Done()
}
