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
	// DefaultTimeout is the timeout of a request that sets none.
	DefaultTimeout = 30 * time.Second
	// RedirectsMax is the most redirects that are followed.
	RedirectsMax = 5
)

// Request is one request of a script.
type Request struct {
	// Op is the function that the script has called, for errors.
	Op string
	// Method is upper case: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE.
	Method string
	// URL is absolute, with the scheme http or https.
	URL string
	// Header has valid names and values, and no name that belongs to the
	// connection.
	Header nethttp.Header
	// Body is sent as it is. "" sends none.
	Body string
	// Timeout is how long the response may take to be complete, or with Stream to
	// begin, up to [TimeoutMax]. 0 is [DefaultTimeout].
	Timeout time.Duration
	// Redirects is how many redirects are followed, up to [RedirectsMax]. With 0 a
	// redirect is a response like any other.
	Redirects int
	// Stream lets the body be read in later calls.
	Stream bool
}

// IsSafe reports whether requests with this method change nothing, which RFC 9110
// calls safe.
func IsSafe(method string) bool { return method == "GET" || method == "HEAD" || method == "OPTIONS" }

// fetch is one request in flight, with its redirects.
type fetch struct {
	client    *Client
	transport *tenantTransport
	id        tenant.ID
	req       *Request
	requested target          // the target in the request
	ctx       context.Context // ends with the fetch; knows the end of the call that began it
	end       context.CancelCauseFunc
	release   func() // see Client.acquire

	current       target // of the last redirect
	crossedOrigin bool   // a redirect has led away from the first host
	lastTrip      *roundTrip
	changed       bool    // a response has come for a request that isn't safe
	upload        *upload // of the last request that had a body
	timer         *time.Timer

	mu    sync.Mutex // guards conns
	conns []*conn
}

// roundTrip is one request of a fetch, on one connection.
type roundTrip struct {
	*fetch
	safe      bool
	sent      atomic.Bool // something of it was written, or may have been
	responded bool
}

// upload is the body of one request. It is read in chunks, so that the clocks are
// checked before each, and knows how much of it is left.
type upload struct {
	text *strings.Reader
	left atomic.Int64
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.text.Read(p[:min(len(p), chunkBytes)])
	u.left.Store(int64(u.text.Len()))
	return n, err
}

func (u *upload) Close() error { return nil }

// Do makes a request and returns when its response has begun. Its error is an
// [*outcome.Error], unless the policy itself is not valid.
func (c *Client) Do(ctx context.Context, id tenant.ID, r *Request) (*Response, error) {
	u, first, err := parseURL(r.URL)
	if err != nil {
		return nil, &outcome.Error{Code: CodeURL, Op: r.Op, Message: err.Error(), Applied: appliedNo(r)}
	}
	transport, release, err := c.acquire(id)
	if err != nil {
		return nil, withContext(err, r, first)
	}
	f := &fetch{client: c, transport: transport, id: id, req: r, requested: first, current: first, release: release}
	if !c.allows(transport, first) {
		release()
		c.reportBlocked(id)
		return nil, withContext(notListed(first), r, first)
	}
	if max := transport.policy.BodyBytes; int64(len(r.Body)) > max {
		release()
		return nil, withContext(requestTooLarge(len(r.Body), max), r, first)
	}
	f.ctx, f.end = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), fetchKey{}, f))
	stop := context.AfterFunc(ctx, func() { f.end(context.Cause(ctx)) })
	f.timer = time.AfterFunc(f.timeout(), func() { f.end(errTimeout) })
	resp, err := f.send(u)
	if r.Stream || err != nil {
		f.timer.Stop()
	}
	stop()
	if err != nil {
		err = f.fail(err)
		f.close()
		return nil, err
	}
	return resp, nil
}

func (f *fetch) timeout() time.Duration {
	if f.req.Timeout == 0 {
		return DefaultTimeout
	}
	return f.req.Timeout
}

// send sends the request and follows redirects.
func (f *fetch) send(u *url.URL) (*Response, error) {
	req, err := nethttp.NewRequestWithContext(f.ctx, f.req.Method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = f.req.Header.Clone()
	if f.req.Body != "" {
		req.ContentLength = int64(len(f.req.Body))
		req.GetBody = f.newUpload // for redirects, and requests that are sent a second time
		req.Body, _ = f.newUpload()
	}
	client := nethttp.Client{Transport: f, CheckRedirect: f.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, body: resp.Body, length: resp.ContentLength, fetch: f}, nil
}

// newUpload returns the body from its beginning.
func (f *fetch) newUpload() (io.ReadCloser, error) {
	f.upload = &upload{text: strings.NewReader(f.req.Body)}
	f.upload.left.Store(int64(len(f.req.Body)))
	return f.upload, nil
}

// errSwitched is the error of a response that no script has asked for: net/http
// leaves its connection to the caller, so that no deadline would close it.
var errSwitched = errors.New("the status is 101, a switch to another protocol")

// RoundTrip sends one request of the fetch, for the client of net/http.
func (f *fetch) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	trip := &roundTrip{fetch: f, safe: IsSafe(r.Method)}
	f.lastTrip = trip
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { f.bind(info.Conn, trip) },
	})
	resp, err := f.transport.base.RoundTrip(r.WithContext(ctx))
	if err == nil && resp.StatusCode == nethttp.StatusSwitchingProtocols {
		_ = resp.Body.Close() // its error says no more than this one
		return nil, errSwitched
	}
	trip.responded = err == nil
	f.changed = f.changed || trip.responded && !trip.safe
	return resp, err
}

// bind notes which connection a round trip goes over.
func (f *fetch) bind(nc net.Conn, trip *roundTrip) {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	c := nc.(*conn)
	c.trip.Store(trip)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns = append(f.conns, c)
}

// close ends the fetch. Its connections may be kept for others.
func (f *fetch) close() {
	f.end(context.Canceled)
	f.timer.Stop()
	f.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		if trip := c.trip.Load(); trip.fetch == f {
			c.trip.CompareAndSwap(trip, idleTrip)
		}
	}
	f.conns = nil
}

// crossOriginHeaders are the headers that are sent to another host. Any other that
// a script has set may be a secret.
var crossOriginHeaders = map[string]bool{"Accept": true, "Accept-Language": true, "Content-Type": true, "User-Agent": true}

// redirect checks where a redirect leads.
func (f *fetch) redirect(r *nethttp.Request, via []*nethttp.Request) error {
	if f.req.Redirects == 0 {
		return nethttp.ErrUseLastResponse
	}
	if len(via) > f.req.Redirects {
		return f.tooManyRedirects()
	}
	t, err := parseTarget(r.URL)
	if err != nil || !f.client.allows(f.transport, t) {
		f.client.reportBlocked(f.id)
		return f.redirectedElsewhere()
	}
	if !sameHost(f.current, t) {
		f.crossedOrigin = true
	}
	f.current = t
	for name := range r.Header {
		if f.crossedOrigin && !crossOriginHeaders[name] {
			r.Header.Del(name)
		}
	}
	return nil
}

// sameHost reports whether what was sent to one target may be sent to the next: it
// is the same server, or the same name at the default ports, and TLS is never
// given up.
func sameHost(from, to target) bool {
	defaultPorts := from.port == from.schemePort() && to.port == to.schemePort()
	return from.host == to.host && (from.port == to.port || defaultPorts) && (to.tls || !from.tls)
}
