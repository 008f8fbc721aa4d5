package api

import (
	"context"
	"fmt"
	"net/http"

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
	// Tokens are who may call. Without any, every caller is an operator, and only
	// this machine is answered.
	Tokens []Token
	// BytesInFlight is how many bytes of a tenant's events may be received at
	// once.
	BytesInFlight int64
	// Locks are the rows of locks. nil disables their resources.
	Locks locktable.Table
	// Log takes what an operator should know. Required.
	Log *zap.Logger
	// Context adds to the context of a run what a request's header carries.
	// Required.
	Context func(context.Context, http.Header) context.Context
	// Metrics answers /metrics on the internal port. nil disables it.
	Metrics http.Handler
	// Refused is told the error of an invocation that wasn't accepted. nil
	// disables it.
	Refused func(runtime.ErrorType)
}

// API is the HTTP API of a host.
type API struct {
	config   Config
	keys     keyring
	inFlight *bytesInFlight
}

// New makes an API. It is an error if a token is not valid.
func New(c Config) (*API, error) {
	keys, err := newKeyring(c.Tokens)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, known := c.Tenants[key.caller.tenant]; !key.caller.operator && !known {
			return nil, fmt.Errorf("a token is for tenant %s, which there is none of", key.caller.tenant)
		}
	}
	return &API{config: c, keys: keys, inFlight: newBytesInFlight(c.BytesInFlight)}, nil
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
		"/": func(w http.ResponseWriter, r *http.Request, _ caller) { notFound(w) },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c, err := a.keys.caller(r)
			if err != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, runtime.Errorf(requestUnauthorized, "%v", err))
				return
			}
			handle(w, r, c)
		})
	}
	if len(a.keys) == 0 {
		return a.protected(http.NewCrossOriginProtection().Handler(localOnly(mux)))
	}
	return a.protected(mux)
}

// InternalHandler answers the platform: /healthz, /readyz and /metrics, under
// any host name.
func (a *API) InternalHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respondHealth(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { respondHealth(w, a.config.Host.Ready()) })
	if a.config.Metrics != nil {
		mux.Handle("GET /metrics", a.config.Metrics)
	}
	return a.protected(mux)
}

func respondHealth(w http.ResponseWriter, ok bool) {
	code := http.StatusOK
	if !ok {
		code = http.StatusServiceUnavailable
	}
	respond(w, code, map[string]bool{"ok": ok})
}
