package api

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/locktable"
)

// Config is what an API is made from.
type Config struct {
	// Host runs the invocations. Required.
	Host Host
	// Tenants are those whose scripts can be run.
	Tenants runtime.Directory
	// Tokens are the tokens of those who may call. Without any, every caller is an operator, and only
	// this machine is answered.
	Tokens []Token
	// BytesInFlight is how many bytes of a tenant's events may be received at
	// once.
	BytesInFlight int64
	// Locks are the rows of locks. nil disables their resources.
	Locks locktable.Table
	// Log takes records for operators. Required.
	Log *zap.Logger
	// Audit takes one record for each act of a caller that changes something.
	// Required.
	Audit *zap.Logger
	// Context adds to the context of a run what a request's header carries.
	// Required.
	Context func(context.Context, http.Header) context.Context
	// Metrics answers /metrics on the internal port. nil disables it.
	Metrics http.Handler
	// Refused is told the error of an invocation that wasn't accepted. nil
	// disables it.
	Refused func(runtime.ErrorType)
	// Unauthorized is told why a request has no valid token: "missing" or "wrong".
	// nil disables it.
	Unauthorized func(reason string)
	// Reload reads the configuration again; after an error the old one stays. nil
	// disables it.
	Reload func() error
}

// API is the HTTP API of a host.
type API struct {
	config   Config
	access   atomic.Pointer[access]
	listens  atomic.Pointer[net.Addr] // nil before Serve
	inFlight *bytesInFlight
	refusals limiter // of records about requests without a valid token
}

// New makes an API. It is an error if a token is not valid.
func New(c Config) (*API, error) {
	first, err := newAccess(c.Tenants, c.Tokens)
	if err != nil {
		return nil, err
	}
	a := &API{config: c, inFlight: newBytesInFlight(c.BytesInFlight), refusals: limiter{pause: refusalPause}}
	a.access.Store(first)
	return a, nil
}

// handler answers one kind of request of a known caller.
type handler func(w http.ResponseWriter, r *http.Request, c caller)

// Handler answers the requests of tenants and operators.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		"POST /v1/tenants/{tenant}/scripts/{script...}": a.invoke,
		"GET /v1/invocations":                           a.list,
		"GET /v1/invocations/{id}":                      a.get,
		"DELETE /v1/invocations/{id}":                   a.cancel,
		"GET /v1/tenants/{tenant}/locks":                a.listLocks,
		"DELETE /v1/tenants/{tenant}/locks/{name...}":   a.freeLock,
		"POST /v1/reload":                               a.reload,
		"/":                                             func(w http.ResponseWriter, r *http.Request, _ caller) { notFound(w) },
	} {
		mux.HandleFunc(pattern, a.authorized(handle))
	}
	open := http.NewCrossOriginProtection().Handler(localOnly(mux))
	return a.protected(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(a.access.Load().keys) == 0 {
			open.ServeHTTP(w, r)
		} else {
			mux.ServeHTTP(w, r)
		}
	}))
}

// InternalHandler answers the platform: /healthz, /readyz and /metrics, under
// any host name.
func (a *API) InternalHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respondHealth(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { respondHealth(w, a.config.Host.Problems()) })
	if a.config.Metrics != nil {
		mux.Handle("GET /metrics", a.config.Metrics)
	}
	return a.protected(mux)
}

func respondHealth(w http.ResponseWriter, problems []Problem) {
	code := http.StatusOK
	if len(problems) > 0 {
		code = http.StatusServiceUnavailable
	}
	respond(w, code, struct {
		OK       bool      `json:"ok"`
		Problems []Problem `json:"problems,omitempty"`
	}{len(problems) == 0, problems})
}
