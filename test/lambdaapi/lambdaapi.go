// Package lambdaapi is a fake of AWS Lambda's Runtime API and Extensions API, for
// tests and benchmarks of programs that run there. It serves invocations to the
// program and keeps the responses, with their headers and trailers.
//
// As on the platform an invocation is complete when the program polls for the
// next one after its response. And as there, responses to unknown invocations,
// second responses and responses that are too large are refused.
package lambdaapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ResponseBytesMax is the size of the largest response that the platform takes.
const ResponseBytesMax = 6<<20 + 100

// Invocation is one call of the function.
type Invocation struct {
	Payload string
	// Timeout is the function's timeout. The default is 3 s, as on the platform.
	Timeout time.Duration
	// Tenant is the platform's tenant id; "" for a function without isolation.
	Tenant string
	// ARN is the function's ARN, as it was called. The default is [FunctionARN].
	ARN string
	// Header adds headers, or replaces them; an empty value leaves one out.
	Header map[string]string
}

// FunctionARN is the default of [Invocation.ARN].
const FunctionARN = "arn:aws:lambda:eu-west-1:123456789012:function:scripts"

// Response is a request by which the program has answered.
type Response struct {
	// Path is the end of its path: "response", "error" or "init/error".
	Path   string
	Body   string
	Header http.Header
	// Trailer are the trailers of a streamed body.
	Trailer http.Header
	// Status is the status that the fake has answered with.
	Status int
}

// OK reports whether the invocation succeeded.
func (a Response) OK() bool { return a.Path == "response" && a.Status == http.StatusAccepted }

// Pending is an invocation that was sent.
type Pending struct {
	// ID is the id of the request.
	ID string
	// Taken is closed when the program has received the invocation.
	Taken chan struct{}
	// Responded receives the response.
	Responded chan Response
	// Complete is closed when the program polls after its response.
	Complete chan struct{}

	Invocation
	responded bool
}

// API is a fake of both APIs.
type API struct {
	// Address is the value of AWS_LAMBDA_RUNTIME_API.
	Address string
	// InitErrors receives the error of a failed start.
	InitErrors chan Response
	// Ready is closed when the program first polls for an invocation.
	Ready chan struct{}
	// Registered is closed when an extension has registered and waits.
	Registered chan struct{}

	queue  chan *Pending
	closed chan struct{}

	mu         sync.Mutex          // guards the fields below
	taken      map[string]*Pending // by id, received by the program
	incomplete []*Pending          // with a response, the oldest first
	polled     bool
	number     int
}

// Start starts a fake that is stopped at the end of its test.
func Start(tb testing.TB) *API {
	tb.Helper()
	a, end := Run()
	tb.Cleanup(end)
	return a
}

// Run starts a fake that end stops.
func Run() (a *API, end func()) {
	a = &API{
		InitErrors: make(chan Response, 1), Ready: make(chan struct{}), Registered: make(chan struct{}),
		queue: make(chan *Pending), closed: make(chan struct{}), taken: map[string]*Pending{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{path}", a.respond)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", a.initError)
	mux.HandleFunc("POST /2020-01-01/extension/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Lambda-Extension-Identifier", "11111111-2222-3333-4444-555555555555")
	})
	var once sync.Once
	mux.HandleFunc("GET /2020-01-01/extension/event/next", func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(a.Registered) })
		a.wait(r)
	})
	s := httptest.NewServer(mux)
	a.Address = strings.TrimPrefix(s.URL, "http://")
	return a, func() {
		close(a.closed)
		s.Close()
	}
}

// wait waits until the program disconnects, or the fake is stopped.
func (a *API) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-a.closed:
	}
}

// Send sends an invocation, which the program receives when it polls.
func (a *API) Send(inv Invocation) *Pending {
	a.mu.Lock()
	a.number++
	p := &Pending{
		ID:    fmt.Sprintf("00000000-0000-4000-8000-%012d", a.number),
		Taken: make(chan struct{}), Responded: make(chan Response, 1), Complete: make(chan struct{}),
		Invocation: inv,
	}
	a.mu.Unlock()
	go func() {
		select {
		case a.queue <- p:
		case <-a.closed:
		}
	}()
	return p
}

// next answers a poll with an invocation.
func (a *API) next(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	if !a.polled {
		a.polled = true
		close(a.Ready)
	}
	if len(a.incomplete) > 0 {
		close(a.incomplete[0].Complete)
		a.incomplete = a.incomplete[1:]
	}
	a.mu.Unlock()
	var p *Pending
	select {
	case p = <-a.queue:
	case <-r.Context().Done():
		return
	case <-a.closed:
		return
	}
	a.mu.Lock()
	a.taken[p.ID] = p
	a.mu.Unlock()
	for name, value := range p.headers() {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	close(p.Taken)
	_, _ = io.WriteString(w, p.Payload) // a test notices when its program has gone
}

func (p *Pending) headers() map[string]string {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = 3 * time.Second
	}
	arn := p.ARN
	if arn == "" {
		arn = FunctionARN
	}
	out := map[string]string{
		"Content-Type":                        "application/json",
		"Lambda-Runtime-Aws-Request-Id":       p.ID,
		"Lambda-Runtime-Deadline-Ms":          strconv.FormatInt(time.Now().Add(timeout).UnixMilli(), 10),
		"Lambda-Runtime-Invoked-Function-Arn": arn,
		"Lambda-Runtime-Trace-Id":             "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1",
		"Lambda-Runtime-Aws-Tenant-Id":        p.Tenant,
	}
	maps.Copy(out, p.Header)
	return out
}

// respond takes the response to an invocation.
func (a *API) respond(w http.ResponseWriter, r *http.Request) {
	got := readResponse(r)
	a.mu.Lock()
	p := a.taken[r.PathValue("id")]
	switch {
	case got.Path != "response" && got.Path != "error":
		got.Status = http.StatusNotFound
	case p == nil:
		got.Status = http.StatusBadRequest
	case p.responded:
		got.Status = http.StatusForbidden
	case len(got.Body) > ResponseBytesMax:
		got.Status = http.StatusRequestEntityTooLarge
	default:
		a.incomplete = append(a.incomplete, p)
	}
	if p != nil && !p.responded {
		p.responded = true
		p.Responded <- got
	}
	a.mu.Unlock()
	writeStatus(w, got.Status)
}

func (a *API) initError(w http.ResponseWriter, r *http.Request) {
	got := readResponse(r)
	got.Path = "init/error"
	select {
	case a.InitErrors <- got:
	default: // a second one
		got.Status = http.StatusForbidden
	}
	writeStatus(w, got.Status)
}

func readResponse(r *http.Request) Response {
	body, _ := io.ReadAll(r.Body) // a test compares what was received
	return Response{
		Path: r.PathValue("path"), Body: string(body), Header: r.Header.Clone(), Trailer: r.Trailer.Clone(),
		Status: http.StatusAccepted,
	}
}

func writeStatus(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": http.StatusText(status)})
}
