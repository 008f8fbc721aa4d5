package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// access is who may call, and for which tenants. A reload replaces it.
type access struct {
	tenants runtime.Directory
	keys    keyring
}

func newAccess(tenants runtime.Directory, tokens []Token) (*access, error) {
	keys, err := newKeyring(tokens)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, known := tenants[key.caller.tenant]; !key.caller.operator && !known {
			return nil, fmt.Errorf("a token is for tenant %s, which there is none of", key.caller.tenant)
		}
	}
	return &access{tenants, keys}, nil
}

// Reload checks new tenants and tokens. commit replaces the current ones; a request
// that has begun keeps those with which it began.
func (a *API) Reload(tenants runtime.Directory, tokens []Token) (commit func(), err error) {
	next, err := newAccess(tenants, tokens)
	if err != nil {
		return nil, err
	}
	if address := a.listens.Load(); address != nil && len(next.keys) == 0 && !loopback(*address) {
		return nil, errNeedsTokens(*address)
	}
	return func() { a.access.Store(next) }, nil
}

func errNeedsTokens(address net.Addr) error {
	return fmt.Errorf("%s can be reached by others than this machine, and there are no tokens: set tokens, or listen on 127.0.0.1", address)
}

// authorized calls handle with the caller of each request, or refuses one
// without a valid token.
func (a *API) authorized(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := a.access.Load()
		c, err := now.keys.caller(r)
		if err != nil {
			a.unauthorized(r, err)
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, runtime.Errorf(requestUnauthorized, "%v", errNoToken))
			return
		}
		c.access = now
		handle(w, r, c)
	}
}

// unauthorized counts and logs a request that is refused for its token. Anyone can
// send any number of them, so few are logged.
func (a *API) unauthorized(r *http.Request, err error) {
	reason := "missing"
	if errors.Is(err, errWrongToken) {
		reason = "wrong"
	}
	if counts := a.config.Unauthorized; counts != nil {
		counts(reason)
	}
	if others, ok := a.refusals.allow(); ok {
		a.config.Log.Warn("a request had no valid token", append(origin(r), zap.String("reason", reason), zap.Int("notLogged", others))...)
	}
}

// knows reports whether there is such a tenant.
func (c caller) knows(id tenant.ID) bool {
	_, known := c.access.tenants[id]
	return known
}
