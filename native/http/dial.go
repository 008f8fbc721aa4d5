package http

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// dialer makes the connections of one tenant under one policy. Each is given up
// with the exchange that it is made for: net/http goes on with it for the sake of
// later requests, so that one after the other, each with a short time, would
// have any number of connections made at once, and after their run.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
}

// exchangeKey is where a context has its exchange.
type exchangeKey struct{}

// bound returns ctx with the end of its exchange.
func bound(ctx context.Context) (_ context.Context, free func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	x := ctx.Value(exchangeKey{}).(*exchange)
	unlink := context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// plain makes a connection.
func (d *dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, free := bound(ctx)
	defer free()
	made, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: made}, nil
}

// secure makes a connection and agrees on TLS.
func (d *dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	made, err := d.plain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, free := bound(ctx)
	defer free()
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	config := d.tls.Clone()
	config.ServerName = name
	secure := tls.Client(made, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = made.Close() // the failure counts for more
		return nil, err
	}
	return secure, nil
}

// conn looks at the clocks before it writes something of a request.
type conn struct {
	net.Conn
	hop atomic.Pointer[hop] // nil until TLS is agreed on
}

// idle is the hop of connections that have none: nothing is written there.
var idle = new(hop)

// Write holds the bytes back if the call has ended: a process that was stopped
// since the gate must not write under a lock that is another's by now.
func (c *conn) Write(p []byte) (int, error) {
	switch h := c.hop.Load(); {
	case h == nil:
	case h == idle:
		return 0, net.ErrClosed
	case clock.Ended(h.ctx):
		h.end(context.DeadlineExceeded)
		return 0, context.DeadlineExceeded
	default:
		h.sent.Store(true)
	}
	return c.Conn.Write(p)
}
