package sql

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// controlMax is how long the host deals with a session whose call has ended:
// asking the server to stop, rolling back, closing.
const controlMax = 5 * time.Second

// protocolBytes is what an answer may have besides its values.
const protocolBytes = 1 << 20

var (
	errCut      = errors.New("the connection was cut")
	errHeldBack = errors.New("held back: the call has ended")
	errTooLarge = errors.New("the answer is too large")
)

// blocked is the error for an address that the host forbids.
type blocked struct{ cause error }

func (b *blocked) Error() string { return "blocked: " + b.cause.Error() }

// link is a session's way to its server, and is there before the session is.
// With a driver that has no network nothing is ever dialled.
type link struct {
	dialer net.Dialer
	budget int64 // bytes that may be read per row

	mu    sync.Mutex // guards what follows
	conn  net.Conn   // the session's
	ready bool       // the session is open: what is dialled now is for control
	isCut bool

	call atomic.Pointer[call] // under way
	left atomic.Int64         // bytes that may still be read
	over atomic.Bool          // more was to be read
}

// call is a call of the session.
type call struct {
	ctx  context.Context
	sent atomic.Bool // something was written
	held atomic.Bool // something was held back
}

func newLink(control func(network, address string, c syscall.RawConn) error, budget int64) *link {
	l := &link{budget: budget}
	if control != nil {
		l.dialer.Control = func(network, address string, c syscall.RawConn) error {
			if err := control(network, address, c); err != nil {
				return &blocked{err}
			}
			return nil
		}
	}
	l.allow()
	return l
}

// dial is [Target.Dial].
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l.isReady() {
		within, cancel := context.WithTimeout(ctx, controlMax)
		defer cancel()
		conn, err := l.dialer.DialContext(within, network, address)
		if err != nil {
			return nil, err
		}
		return conn, conn.SetDeadline(time.Now().Add(controlMax))
	}
	conn, err := l.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, errors.Join(errCut, conn.Close())
	}
	l.conn = conn
	return &wire{conn, l}, nil
}

// opened says that the session is open.
func (l *link) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
}

func (l *link) isReady() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ready
}

// cut closes the connection: whatever waits for it returns.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	if l.conn != nil {
		_ = l.conn.Close() // it is of no use any more, in whatever state
	}
}

// wasCut says whether the connection has been cut.
func (l *link) wasCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isCut
}

// hurry bounds what is still done with the connection.
func (l *link) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.SetDeadline(time.Now().Add(controlMax)) // fails if it is closed
	}
}

// begin starts a call.
func (l *link) begin(ctx context.Context) *call {
	c := &call{ctx: ctx}
	l.call.Store(c)
	l.allow()
	return c
}

// allow lets another row be read.
func (l *link) allow() { l.left.Store(l.budget) }

// wire is the network connection as the driver sees it.
type wire struct {
	net.Conn
	link *link
}

// Write looks at the clocks right before the bytes go out, and holds them back
// if the call has ended: a process that was stopped since the gate must not
// write under a lock that is another's by now.
func (w *wire) Write(p []byte) (int, error) {
	c := w.link.call.Load()
	if c == nil {
		return w.Conn.Write(p)
	}
	if clock.Ended(c.ctx) {
		c.held.Store(true)
		return 0, errHeldBack
	}
	n, err := w.Conn.Write(p)
	if n > 0 {
		c.sent.Store(true)
	}
	return n, err
}

// Read refuses to go on with an answer that is too large: drivers keep a row
// whole.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.link.left.Add(-int64(n)) < 0 {
		w.link.over.Store(true)
		return n, errTooLarge
	}
	return n, err
}
