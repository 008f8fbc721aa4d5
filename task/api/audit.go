package api

import (
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Acts in the audit log.
const (
	actFree   = "lock.free"
	actCancel = "run.cancel"
	actReload = "configuration.reload"
)

// audit records that a caller has changed something, or has tried to.
func (a *API) audit(r *http.Request, c caller, act string, done bool, fields ...zap.Field) {
	role := "tenant"
	if c.operator {
		role = "operator"
	}
	a.config.Audit.Info("audit", append(append([]zap.Field{
		zap.String("act", act), zap.Bool("done", done), zap.String("caller", c.name), zap.String("role", role),
	}, origin(r)...), fields...)...)
}

// forwardedMax bounds what is logged of a header that a proxy adds to, and that
// any caller can begin.
const forwardedMax = 200

// origin returns where a request came from: the address of its connection, and the
// header X-Forwarded-For, if there is one.
func origin(r *http.Request) []zap.Field {
	fields := []zap.Field{zap.String("from", r.RemoteAddr)}
	if forwarded := r.Header.Get("X-Forwarded-For"); forwarded != "" {
		fields = append(fields, zap.String("forwardedFor", forwarded[:min(len(forwarded), forwardedMax)]))
	}
	return fields
}

// refusalPause is the time between two records about requests that were refused for
// their tokens.
const refusalPause = 10 * time.Second

// limiter allows one record per pause, and counts those in between.
type limiter struct {
	pause time.Duration

	mu     sync.Mutex // guards what follows
	next   time.Time
	others int
}

// allow reports whether a record may be written now, and how many were not since
// the last one.
func (l *limiter) allow() (others int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		l.others++
		return 0, false
	}
	others, l.others, l.next = l.others, 0, now.Add(l.pause)
	return others, true
}
