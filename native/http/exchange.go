package http

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// TimeoutMax is the longest timeout of a request.
	TimeoutMax = time.Hour
	// DefaultTimeout is that of a request that names none.
	DefaultTimeout = 30 * time.Second
	// RedirectsMax is how many redirects are followed at most.
	RedirectsMax = 5
)

// Request is one request of a script.
type Request struct {
	// Op is the function that the script has called, for errors.
	Op string
	// Method is upper case: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE.
	Method string
	URL    string
	// Header has valid names and values and none that belongs to the connection.
	Header nethttp.Header
	Body   string // "" for none
	// Timeout is how long the answer may take to be complete, or, for Stream,
	// to begin. 0 is [DefaultTimeout].
	Timeout time.Duration
	// Redirects is how many are followed, up to [RedirectsMax]. With 0 an answer
	// that redirects is an answer like any other.
	Redirects int
	// Stream: the body is read piece by piece, in later calls.
	Stream bool
}

// IsSafe reports whether requests with this method change nothing, which RFC 9110
// calls safe.
func IsSafe(method string) bool { return method == "GET" || method == "HEAD" || method == "OPTIONS" }

// exchange is one request on its way, with its redirects.
type exchange struct {
	client *Client
	way    *way
	id     tenant.ID
	req    *Request
	first  target          // what the script has asked for
	ctx    context.Context // ends with the exchange; knows the end of the call that began it
	end    context.CancelCauseFunc
	leave  func() // see Client.enter

	current target // of the redirects
	moved   bool   // a redirect has led away from the first host
	last    *hop
	begun   bool    // an answer has come for a request that may have changed something
	upload  *upload // of the last request that had a body
	timer   *time.Timer

	mu    sync.Mutex // guards conns
	conns []*conn
}

// hop is one request of an exchange, on the connection that it has.
type hop struct {
	*exchange
	safe     bool
	sent     atomic.Bool // something of it was written, or may have been
	answered bool
}

// upload is the body of one request. It gives pieces, so that the clocks are
// looked at before each, and knows how much it still has.
type upload struct {
	text *strings.Reader
	left atomic.Int64
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.text.Read(p[:min(len(p), pieceBytes)])
	u.left.Store(int64(u.text.Len()))
	return n, err
}

func (u *upload) Close() error { return nil }

// Do makes a request and returns when its answer has begun. The error is what
// the script is to be told, unless the policy itself is wrong.
func (c *Client) Do(ctx context.Context, id tenant.ID, r *Request) (*Response, error) {
	u, first, err := parseURL(r.URL)
	if err != nil {
		return nil, &outcome.Error{Code: CodeURL, Op: r.Op, Message: err.Error(), Applied: appliedNo(r)}
	}
	w, leave, err := c.enter(id)
	if err != nil {
		return nil, about(err, r, first)
	}
	x := &exchange{client: c, way: w, id: id, req: r, first: first, current: first, leave: leave}
	if !c.admit(w, first) {
		leave()
		c.countBlocked(id)
		return nil, about(notListed(first), r, first)
	}
	if max := w.policy.BodyBytes; int64(len(r.Body)) > max {
		leave()
		return nil, about(sentTooLarge(len(r.Body), max), r, first)
	}
	x.ctx, x.end = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), exchangeKey{}, x))
	unlink := context.AfterFunc(ctx, func() { x.end(context.Cause(ctx)) })
	x.timer = time.AfterFunc(x.timeout(), func() { x.end(errTimeout) })
	answer, err := x.send(u)
	if r.Stream || err != nil {
		x.timer.Stop()
	}
	unlink()
	if err != nil {
		err = x.trouble(err)
		x.close()
		return nil, err
	}
	return answer, nil
}

func (x *exchange) timeout() time.Duration {
	if x.req.Timeout == 0 {
		return DefaultTimeout
	}
	return x.req.Timeout
}

// send sends the request and follows redirects.
func (x *exchange) send(u *url.URL) (*Response, error) {
	req, err := nethttp.NewRequestWithContext(x.ctx, x.req.Method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = x.req.Header.Clone()
	if x.req.Body != "" {
		req.ContentLength = int64(len(x.req.Body))
		req.GetBody = x.fresh // for redirects, and what is sent a second time
		req.Body, _ = x.fresh()
	}
	client := nethttp.Client{Transport: x, CheckRedirect: x.redirect}
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, body: answer.Body, length: answer.ContentLength, exchange: x}, nil
}

// fresh is the body from its beginning.
func (x *exchange) fresh() (io.ReadCloser, error) {
	x.upload = &upload{text: strings.NewReader(x.req.Body)}
	x.upload.left.Store(int64(len(x.req.Body)))
	return x.upload, nil
}

// errSwitched is the error of an answer that nobody asked for: net/http leaves
// its connection to the caller, so that no end would close it.
var errSwitched = errors.New("the status is 101, a switch to another protocol")

// RoundTrip sends one request of the exchange; it is what net/http's client
// asks.
func (x *exchange) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	h := &hop{exchange: x, safe: IsSafe(r.Method)}
	x.last = h
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { x.use(info.Conn, h) },
	})
	answer, err := x.way.transport.RoundTrip(r.WithContext(ctx))
	if err == nil && answer.StatusCode == nethttp.StatusSwitchingProtocols {
		_ = answer.Body.Close() // nothing in it counts
		return nil, errSwitched
	}
	h.answered = err == nil
	x.begun = x.begun || h.answered && !h.safe
	return answer, err
}

// use notes which connection a hop goes over.
func (x *exchange) use(made net.Conn, h *hop) {
	if secure, ok := made.(*tls.Conn); ok {
		made = secure.NetConn()
	}
	c := made.(*conn)
	c.hop.Store(h)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conns = append(x.conns, c)
}

// close ends the exchange, and lets go of connections that are kept for others.
func (x *exchange) close() {
	x.end(context.Canceled)
	x.timer.Stop()
	x.leave()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		if h := c.hop.Load(); h.exchange == x {
			c.hop.CompareAndSwap(h, idle)
		}
	}
	x.conns = nil
}

// anywhere are the headers that go along to another host. What else a script
// has set may be a secret.
var anywhere = map[string]bool{"Accept": true, "Accept-Language": true, "Content-Type": true, "User-Agent": true}

// redirect looks at where a redirect leads.
func (x *exchange) redirect(r *nethttp.Request, via []*nethttp.Request) error {
	if x.req.Redirects == 0 {
		return nethttp.ErrUseLastResponse
	}
	if len(via) > x.req.Redirects {
		return x.tooManyRedirects()
	}
	t, err := parseTarget(r.URL)
	if err != nil || !x.client.admit(x.way, t) {
		x.client.countBlocked(x.id)
		return x.redirectedAway()
	}
	if !sameHost(x.current, t) {
		x.moved = true
	}
	x.current = t
	for name := range r.Header {
		if x.moved && !anywhere[name] {
			r.Header.Del(name)
		}
	}
	return nil
}

// sameHost says whether what was sent to one target may be sent to the next: it
// is the same server, or the same name at the usual ports, and never without
// TLS after with it.
func sameHost(from, to target) bool {
	usual := from.port == from.schemePort() && to.port == to.schemePort()
	return from.host == to.host && (from.port == to.port || usual) && (to.tls || !from.tls)
}
