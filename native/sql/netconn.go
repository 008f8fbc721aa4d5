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

// controlMax bounds what is still done with a session whose call has ended: asking
// the server to cancel, rolling back, closing.
const controlMax = 5 * time.Second

// protocolBytes is what a response may have besides its values.
const protocolBytes = 1 << 20

var (
	errCut      = errors.New("the connection was cut")
	errHeldBack = errors.New("held back: the call has ended")
	errTooLarge = errors.New("the response is too large")
)

// blockedError is the error of an address that the host forbids.
type blockedError struct{ cause error }

func (b *blockedError) Error() string { return "blocked: " + b.cause.Error() }

// netConn is a session's network connection. It exists before the session does,
// and dials nothing if the driver has no network.
type netConn struct {
	dialer net.Dialer
	budget int64 // bytes that may be read for a row

	mu    sync.Mutex // guards what follows
	conn  net.Conn   // the session's
	ready bool       // the session is open: what is dialled now is for cancelling
	isCut bool

	call      atomic.Pointer[call] // the current one; nil for none
	remaining atomic.Int64         // bytes that may still be read for the row
	exceeded  atomic.Bool          // more than that has come
}

// call is one call of the session.
type call struct {
	ctx  context.Context
	sent atomic.Bool // something was written
	held atomic.Bool // something was held back
}

func newNetConn(control func(network, address string, c syscall.RawConn) error, budget int64) *netConn {
	n := &netConn{budget: budget}
	if control != nil {
		n.dialer.Control = func(network, address string, c syscall.RawConn) error {
			if err := control(network, address, c); err != nil {
				return &blockedError{err}
			}
			return nil
		}
	}
	n.resetBudget()
	return n
}

// dial is the session's [Target.Dial].
func (n *netConn) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if n.isReady() {
		within, cancel := context.WithTimeout(ctx, controlMax)
		defer cancel()
		conn, err := n.dialer.DialContext(within, network, address)
		if err != nil {
			return nil, err
		}
		return conn, conn.SetDeadline(time.Now().Add(controlMax))
	}
	conn, err := n.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut {
		return nil, errors.Join(errCut, conn.Close())
	}
	n.conn = conn
	return &checkedConn{conn, n}, nil
}

// setReady notes that the session is open.
func (n *netConn) setReady() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready = true
}

func (n *netConn) isReady() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ready
}

// cut closes the connection, so that whatever waits for it returns.
func (n *netConn) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
	if n.conn != nil {
		_ = n.conn.Close() // it isn't used any more, in whatever state it is
	}
}

// wasCut reports whether the connection was cut.
func (n *netConn) wasCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isCut
}

// limitClose bounds the time that closing the session may take.
func (n *netConn) limitClose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		_ = n.conn.SetDeadline(time.Now().Add(controlMax)) // fails if it is closed
	}
}

// begin starts a call.
func (n *netConn) begin(ctx context.Context) *call {
	c := &call{ctx: ctx}
	n.call.Store(c)
	n.resetBudget()
	return c
}

// resetBudget allows another row to be read.
func (n *netConn) resetBudget() { n.remaining.Store(n.budget) }

// checkedConn is the network connection as the driver sees it: writes are checked
// against the end of the call, and reads against the budget.
type checkedConn struct {
	net.Conn
	owner *netConn
}

// Write reads the clocks right before the bytes go out, and holds them back if the
// call has ended: a process that was stopped since the interrupt check must not
// write under a lock that has expired.
func (c *checkedConn) Write(p []byte) (int, error) {
	current := c.owner.call.Load()
	if current == nil {
		return c.Conn.Write(p)
	}
	if clock.Ended(current.ctx) {
		current.held.Store(true)
		return 0, errHeldBack
	}
	n, err := c.Conn.Write(p)
	if n > 0 {
		current.sent.Store(true)
	}
	return n, err
}

// Read fails once a row is too large: drivers keep a row as a whole.
func (c *checkedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.owner.remaining.Add(-int64(n)) < 0 {
		c.owner.exceeded.Store(true)
		return n, errTooLarge
	}
	return n, err
}
