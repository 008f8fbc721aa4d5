package dynamo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// connectTime bounds each of TCP's and TLS's handshake: what the SDK takes
	// for a service of the same region.
	connectTime = 1100 * time.Millisecond
	// idleTime is well below the minute after which the service is said to
	// close a connection: one that is closed while a write goes out makes its
	// outcome unknown.
	idleTime = 20 * time.Second
	// idleConnections is how many connections stay open between requests: as
	// many as there may be scripts at work. Unused ones don't exist.
	idleConnections = 512
)

// roundTrip is what one attempt's way over the network has shown.
type roundTrip struct {
	mu     sync.Mutex // guards what follows: hooks run on other goroutines
	signed bool       // the SDK had made and signed the request
	cancel context.CancelFunc
	sent   *clock.Reading
	status int // of the service's answer, 0 if there was none
	date   time.Time
}

type roundTripKey struct{}

// httpClient makes the exchanges of the SDK. One of its requests is one
// request, and net/http sends it again only if nothing of it was written: to a
// connection that had been closed while it was idle, or while the machine
// slept.
type httpClient struct {
	http.Client
	clock *clock.Dual
}

func newHTTPClient(clk *clock.Dual) *httpClient {
	return &httpClient{
		clock: clk,
		Client: http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			// HTTP/1.1: a connection that is stuck holds up one request only.
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
				TLSHandshakeTimeout: connectTime,
				MaxIdleConnsPerHost: idleConnections,
				IdleConnTimeout:     idleTime,
				DisableCompression:  true,
			},
		},
	}
}

// Do makes one exchange, and notes in the one of the request's context what
// became of it.
func (c *httpClient) Do(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(roundTripKey{}).(*roundTrip)
	if !ok {
		return c.Client.Do(r)
	}
	r, err := replayable(x, r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.markSent(c.clock.Read()) },
	})))
	if err != nil {
		return nil, err
	}
	x.markSigned()
	answer, err := c.Client.Do(r)
	if err == nil {
		x.markAnswered(answer)
	}
	return answer, err
}

// replayable lets net/http read the body a second time, without which it does
// not send again even if it has written nothing.
func replayable(x *roundTrip, r *http.Request) (*http.Request, error) {
	if r.Body == nil {
		return r, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.GetBody = func() (io.ReadCloser, error) {
		return &checkedBody{rest: bytes.NewReader(body), ctx: r.Context(), trip: x}, nil
	}
	r.Body, err = r.GetBody()
	return r, err
}

// checkedBody looks at the clocks right before its bytes go out, and holds
// them back if the call has ended: a process that was stopped since the gate
// must not write under a lock that is another's by now. Without all of its
// bytes the service can't act on a request.
type checkedBody struct {
	rest     *bytes.Reader
	ctx      context.Context
	trip *roundTrip
}

func (b *checkedBody) Read(p []byte) (int, error) {
	if clock.Ended(b.ctx) {
		b.trip.abort()
		return 0, context.DeadlineExceeded
	}
	return b.rest.Read(p)
}

// Close does nothing.
func (b *checkedBody) Close() error { return nil }

// abort notes that the request was not sent whole, and keeps net/http from
// trying once more.
func (x *roundTrip) abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = nil
	x.cancel()
}

func (x *roundTrip) markSigned() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.signed = true
}

// markSent notes that the request has a connection: from here on something of it
// may have been written.
func (x *roundTrip) markSent(now clock.Reading) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = &now
}

// markAnswered believes only the service itself: a proxy's Date would spoil what is
// known of the table's time, and its refusal says nothing.
func (x *roundTrip) markAnswered(r *http.Response) {
	if r.Header.Get("X-Amzn-Requestid") == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = r.StatusCode
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		x.date = date
	}
}

// attempt makes one attempt: do asks the SDK once. The error is that of do.
func (s *Store) attempt(ctx context.Context, do func(context.Context) error) (a outcome.Attempt, err error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &roundTrip{cancel: cancel}
	a.Sent = s.clock.Read()
	err = do(context.WithValue(within, roundTripKey{}, x))
	a.Received = s.clock.Read()
	x.mu.Lock()
	defer x.mu.Unlock()
	a.Date = x.date
	if x.sent != nil {
		a.Sent = *x.sent
	}
	a.Outcome, a.Err = s.outcomeOf(ctx, x, err)
	return a, err
}

// read is an attempt without side effects: it was made or it wasn't.
func (s *Store) read(ctx context.Context, do func(context.Context) error) outcome.Attempt {
	a, _ := s.attempt(ctx, do)
	if a.Outcome != outcome.Applied {
		a.Outcome = outcome.NotApplied
	}
	return a
}
