// Package lambdaapi is a fake of AWS Lambda's Runtime API and Extensions API, for
// tests and benchmarks of programs that run there. It serves invocations to the
// program and keeps the responses, with their headers and trailers.
//
// As on the platform an invocation is complete when the program polls for the
// next one after its response. And as there, these are refused:
//
//   - responses to unknown invocations, second ones, late ones, and those that are
//     too large, break off, or have a mode that there isn't
//   - polls for more invocations at once than were agreed
//   - errors of a start that has succeeded
//   - extensions without a name, of a name that is taken, for events that an
//     internal one doesn't get, and after the first poll; and what an unknown
//     extension asks for
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

// OK reports whether the invocation succeeded: its callers read JSON.
func (a Response) OK() bool {
	return a.Path == "response" && a.Status == http.StatusAccepted && json.Valid([]byte(a.Body)) && a.Trailer.Get(errorTypeTrailer) == ""
}

// errorTypeTrailer is set by a program that fails while it streams a response.
const errorTypeTrailer = "Lambda-Runtime-Function-Error-Type"

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
	late      time.Time // when the platform ends the environment
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
	// MaxConcurrency is the value of AWS_LAMBDA_MAX_CONCURRENCY. The default is 1.
	MaxConcurrency int

	queue  chan *Pending
	closed chan struct{}

	mu         sync.Mutex          // guards the fields below
	taken      map[string]*Pending // by id, received by the program
	incomplete []*Pending          // with a response, the oldest first
	polled     bool
	polls      int               // that wait, or whose invocation has no response yet
	extensions map[string]string // names by identifiers
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
		MaxConcurrency: 1,
		queue:          make(chan *Pending), closed: make(chan struct{}), taken: map[string]*Pending{}, extensions: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{path}", a.respond)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", a.initError)
	mux.HandleFunc("POST /2020-01-01/extension/register", a.register)
	var once sync.Once
	mux.HandleFunc("GET /2020-01-01/extension/event/next", func(w http.ResponseWriter, r *http.Request) {
		if !a.isExtension(r.Header.Get("Lambda-Extension-Identifier")) {
			refuse(w, http.StatusForbidden, "Extension.InvalidExtensionIdentifier", "Invalid Lambda-Extension-Identifier")
			return
		}
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
	if a.polls == a.MaxConcurrency {
		a.mu.Unlock()
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "as many invocations as are allowed wait for their responses")
		return
	}
	a.polls++
	a.mu.Unlock()
	var p *Pending
	select {
	case p = <-a.queue:
	case <-r.Context().Done():
	case <-a.closed:
	}
	a.mu.Lock()
	if p == nil {
		a.polls--
		a.mu.Unlock()
		return
	}
	a.taken[p.ID], p.late = p, time.Now().Add(p.timeout())
	a.mu.Unlock()
	for name, value := range p.headers() {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	close(p.Taken)
	_, _ = io.WriteString(w, p.Payload) // a test notices when its program has gone
}

func (p *Pending) timeout() time.Duration {
	if p.Timeout == 0 {
		return 3 * time.Second
	}
	return p.Timeout
}

func (p *Pending) headers() map[string]string {
	arn := p.ARN
	if arn == "" {
		arn = FunctionARN
	}
	out := map[string]string{
		"Content-Type":                        "application/json",
		"Lambda-Runtime-Aws-Request-Id":       p.ID,
		"Lambda-Runtime-Deadline-Ms":          strconv.FormatInt(time.Now().Add(p.timeout()).UnixMilli(), 10),
		"Lambda-Runtime-Invoked-Function-Arn": arn,
		"Lambda-Runtime-Trace-Id":             "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1",
		"Lambda-Runtime-Aws-Tenant-Id":        p.Tenant,
	}
	maps.Copy(out, p.Header)
	return out
}

// respond takes the response to an invocation.
func (a *API) respond(w http.ResponseWriter, r *http.Request) {
	got, whole := readResponse(r)
	kind, message := "", ""
	a.mu.Lock()
	p := a.taken[r.PathValue("id")]
	mode := r.Header.Get("Lambda-Runtime-Function-Response-Mode")
	switch {
	case got.Path != "response" && got.Path != "error":
		got.Status, kind, message = http.StatusNotFound, "NotFound", "no such path"
	case p == nil:
		got.Status, kind, message = http.StatusBadRequest, "InvalidRequestID", "Invalid request ID"
	case p.responded:
		got.Status, kind, message = http.StatusForbidden, "InvalidStateTransition", "the invocation has its response"
	case time.Now().After(p.late):
		got.Status, kind, message = http.StatusForbidden, "InvalidStateTransition", "the environment has been reset: the function timed out"
	case mode != "" && mode != "streaming":
		got.Status, kind, message = http.StatusBadRequest, "InvalidFunctionResponseMode", "Invalid function response mode"
	case !whole:
		got.Status, kind, message = http.StatusBadRequest, "TruncatedHTTPRequest", "HTTP request detected as truncated"
	case len(got.Body) > ResponseBytesMax:
		got.Status, kind = http.StatusRequestEntityTooLarge, "RequestEntityTooLarge"
		message = fmt.Sprintf("Exceeded maximum allowed payload size (%d bytes).", ResponseBytesMax)
	default:
		a.incomplete = append(a.incomplete, p)
	}
	if p != nil && !p.responded {
		p.responded = true
		p.Responded <- got
		a.polls--
	}
	a.mu.Unlock()
	reply(w, got.Status, kind, message)
}

func (a *API) initError(w http.ResponseWriter, r *http.Request) {
	got, _ := readResponse(r) // a test compares what was received
	got.Path = "init/error"
	a.mu.Lock()
	started := a.polled
	a.mu.Unlock()
	if started {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the start has succeeded")
		return
	}
	select {
	case a.InitErrors <- got:
	default:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "a second error of the start")
		return
	}
	reply(w, got.Status, "", "")
}

// readResponse reads a response; whole is false if it breaks off.
func readResponse(r *http.Request) (got Response, whole bool) {
	body, err := io.ReadAll(r.Body)
	return Response{
		Path: r.PathValue("path"), Body: string(body), Header: r.Header.Clone(), Trailer: r.Trailer.Clone(),
		Status: http.StatusAccepted,
	}, err == nil
}

// reply answers with a status, and with an error if its kind is not empty.
func reply(w http.ResponseWriter, status int, kind, message string) {
	if kind != "" {
		refuse(w, status, kind, message)
		return
	}
	writeJSON(w, status, map[string]string{"status": "OK"})
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]string{"errorType": kind, "errorMessage": message})
}

func writeJSON(w http.ResponseWriter, status int, v map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a test notices when its program has gone
}
