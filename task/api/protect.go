package api

import (
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
)

// protected answers for a handler that panics, and bounds the time of a body
// that no handler reads.
func (a *API) protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// Not every kind of connection has deadlines; those of a server do.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout))
		}
		defer func() {
			if p := recover(); p != nil {
				a.config.Log.Error("a request panicked",
					zap.Any("panic", p), zap.ByteString("goStack", debug.Stack()), zap.String("pattern", r.Pattern))
				refuse(w, runtime.Errorf(runtime.HostInternal, "the host failed"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// localOnly refuses requests that a browser was led to send to this machine
// under another name.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if name != "localhost" && (err != nil || !ip.IsLoopback()) {
			refuse(w, runtime.Errorf(requestForbidden, "without tokens only requests to localhost are answered"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
