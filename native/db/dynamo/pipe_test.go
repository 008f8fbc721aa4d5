package dynamo_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
)

// pipes is a listener whose connections are in memory, so that the time of a test
// can be fake.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{made: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.made <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// newFakeInMemory is newFake for a test whose time is fake.
func newFakeInMemory(t testing.TB, answerTo func(n int, r request) answer) *fake {
	f := &fake{answerTo: answerTo, pipes: newPipes()}
	f.Server = &httptest.Server{Listener: f.pipes, Config: &http.Server{Handler: http.HandlerFunc(f.serve)}}
	f.Start()
	t.Cleanup(f.Close)
	return f
}

// openWith opens a store on the service.
func (f *fake) openWith(t testing.TB, clk *clock.Dual) *dynamo.Store {
	t.Helper()
	store := open(t, clk, f.options())
	if f.pipes != nil {
		store.DialWith(f.pipes.dial)
	}
	return store
}

func (f *fake) open(t testing.TB) *dynamo.Store {
	t.Helper()
	return f.openWith(t, systemClock())
}

// fixture is a partition over the fake service.
func (f *fake) fixture(t *testing.T) *dbtest.Fixture {
	return dbtest.NewFixture(t, f.open(t), dbtest.NewClock())
}
