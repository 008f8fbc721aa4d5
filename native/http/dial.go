package http

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// dialer makes the connections of one tenant under one policy. A connection is
// abandoned with the fetch that it is made for. net/http by itself would go on
// with it for later requests: a script with short timeouts could have any number
// in the making, even after its run.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
}

// fetchKey is the key of a context's fetch.
type fetchKey struct{}

// untilFetchEnds returns a context that also ends with the fetch in ctx.
func untilFetchEnds(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := ctx.Value(fetchKey{}).(*fetch)
	detach := context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })
	return ctx, func() {
		detach()
		cancel(nil)
	}
}

// plain makes a connection without TLS.
func (d *dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, stop := untilFetchEnds(ctx)
	defer stop()
	c, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// secure makes a connection with TLS.
func (d *dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c, err := d.plain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilFetchEnds(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	config := d.tls.Clone()
	config.ServerName = name
	secure := tls.Client(c, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close() // the handshake's error counts for more
		return nil, err
	}
	return secure, nil
}

// conn checks the clocks before it writes bytes of a request.
type conn struct {
	net.Conn
	trip atomic.Pointer[roundTrip] // the current one; nil until the TLS handshake is done
}

// idleTrip is the round trip of a connection that has none: nothing is written.
var idleTrip = new(roundTrip)

// Write holds the bytes back if the call has ended: a process that was stopped
// since the interrupt check must not write under a lock that has expired.
func (c *conn) Write(p []byte) (int, error) {
	switch trip := c.trip.Load(); {
	case trip == nil:
	case trip == idleTrip:
		return 0, net.ErrClosed
	case clock.Ended(trip.ctx):
		trip.end(context.DeadlineExceeded)
		return 0, context.DeadlineExceeded
	default:
		trip.sent.Store(true)
	}
	return c.Conn.Write(p)
}
