package dynamo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// connectTime bounds each of the handshakes of TCP and TLS. It is the SDK's
	// value for a service in the same region.
	connectTime = 1100 * time.Millisecond
	// idleTime is well below the minute after which the service is said to close
	// an idle connection: if it does so while a write is being sent, the outcome
	// is unknown.
	idleTime = 20 * time.Second
	// idleConnections is how many connections stay open between requests, as many
	// as scripts may run at once. They are opened only when they are needed.
	idleConnections = 512
)

// roundTrip records what happened to the one request of an attempt.
type roundTrip struct {
	mu        sync.Mutex // guards what follows: hooks run on other goroutines
	signed    bool       // the SDK has made and signed the request
	cancel    context.CancelFunc
	refusal   class          // how its condition may be refused; 0 if it has none
	sent      *clock.Reading // when it had a connection; nil if nothing was written
	signedFor time.Time      // the time of its signature
	status    int            // of the service's response, 0 if there was none
	date      time.Time      // of that response; zero if there was none
	body      []byte         // of that response, once it is whole; nil until then
	doubt     *doubt         // why the response is not believed; nil if it is
}

type roundTripKey struct{}

// httpClient is the transport of the SDK. Each call is one request. net/http sends
// it again only if nothing of it was written: to a connection that was closed
// while it was idle, or while the machine was suspended.
type httpClient struct {
	http.Client
	clock   *clock.Dual
	answers requestIDs
}

func newHTTPClient(clk *clock.Dual) *httpClient {
	return &httpClient{
		clock: clk,
		Client: http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			// HTTP/1.1: a connection that hangs delays one request only.
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

// Do makes one round trip and records it in the [roundTrip] of the request's
// context.
func (c *httpClient) Do(r *http.Request) (*http.Response, error) {
	trip, ok := r.Context().Value(roundTripKey{}).(*roundTrip)
	if !ok { // a request of an operator
		return c.do(new(roundTrip), r)
	}
	r, err := replayable(trip, r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { trip.markSent(c.clock.Read()) },
	})))
	if err != nil {
		return nil, err
	}
	trip.markSigned(signedAt(r))
	return c.do(trip, r)
}

// do makes the round trip, and returns only a response that is the service's.
func (c *httpClient) do(trip *roundTrip, r *http.Request) (*http.Response, error) {
	response, err := c.Client.Do(r)
	if err != nil {
		return nil, err
	}
	return c.receive(trip, response)
}

// replayable lets net/http read the body a second time. Otherwise it would not
// send the request again even if it has written nothing.
func replayable(trip *roundTrip, r *http.Request) (*http.Request, error) {
	if r.Body == nil {
		return r, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.GetBody = func() (io.ReadCloser, error) {
		return &checkedBody{rest: bytes.NewReader(body), ctx: r.Context(), trip: trip}, nil
	}
	r.Body, err = r.GetBody()
	return r, err
}

// checkedBody reads the clocks right before its bytes are sent, and fails if the
// deadline has passed: a process that was suspended since the last interrupt check
// must not write under a lock that may have another holder by now. The service
// can't act on a request without all of its bytes.
type checkedBody struct {
	rest *bytes.Reader
	ctx  context.Context
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

// abort records that the request was not sent as a whole, and keeps net/http from
// sending it again.
func (trip *roundTrip) abort() {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.sent = nil
	trip.cancel()
}

func (trip *roundTrip) markSigned(signedFor time.Time) {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.signed, trip.signedFor = true, signedFor
}

// markSent records that the request has a connection: from here on a part of it
// may have been written.
func (trip *roundTrip) markSent(now clock.Reading) {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.sent = &now
}

// markAnswered records that the headers of a response of the service have come:
// whatever becomes of its body, they tell the class of its status, and the table's
// time. A response of a proxy is not recorded.
func (trip *roundTrip) markAnswered(r *http.Response) {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.status = r.StatusCode
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		trip.date = date
	}
}

func (trip *roundTrip) markBody(body []byte) {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.body = body
}

// markDoubt records why the response is not believed, and returns that as an
// error.
func (trip *roundTrip) markDoubt(d *doubt) error {
	trip.mu.Lock()
	defer trip.mu.Unlock()
	trip.doubt = d
	return d
}

// asError is the doubt as an error, nil if there is none. The caller holds trip.mu.
func (trip *roundTrip) asError() error {
	if trip.doubt == nil {
		return nil
	}
	return trip.doubt
}

// attempt makes one attempt: do calls the SDK once. The error is that of do. refusal
// is the class of the one answer that may refuse it: refused, canceled, or 0 for a
// read.
func (s *Store) attempt(ctx context.Context, refusal class, do func(context.Context) error) (a outcome.Attempt, err error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	trip := &roundTrip{cancel: cancel, refusal: refusal}
	a.Sent = s.clock.Read()
	err = do(context.WithValue(within, roundTripKey{}, trip))
	a.Received = s.clock.Read()
	trip.mu.Lock()
	defer trip.mu.Unlock()
	a.Date = trip.date
	if trip.sent != nil {
		a.Sent = *trip.sent
	}
	if d, ok := errors.AsType[*doubt](err); ok { // about what is in the body
		trip.doubt = d
	}
	a.Outcome, a.Err = s.outcomeOf(ctx, trip, err)
	if trip.doubt != nil {
		s.logDoubt(trip.doubt)
	}
	return a, err
}

// logDoubt tells operators why an answer is not believed.
func (s *Store) logDoubt(d *doubt) {
	s.log.Warn("an answer is not believed", zap.String("table", s.table), zap.String("reason", d.message), zap.Error(d.detail))
}

// read makes an attempt without side effects, which is Applied or NotApplied.
func (s *Store) read(ctx context.Context, do func(context.Context) error) outcome.Attempt {
	a, _ := s.attempt(ctx, 0, do)
	if a.Outcome != outcome.Applied {
		a.Outcome = outcome.NotApplied
	}
	return a
}
