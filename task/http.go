package task

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Error types of requests that don't get as far as an invocation.
const (
	requestUnauthorized runtime.ErrorType = "Request.Unauthorized" // 401
	requestForbidden    runtime.ErrorType = "Request.Forbidden"    // 403
	requestNotFound     runtime.ErrorType = "Request.NotFound"     // 404
	requestInvalid      runtime.ErrorType = "Request.Invalid"      // 400
	requestConflict     runtime.ErrorType = "Request.Conflict"     // 422, 409 for a lock
)

// status is what an error is answered with.
func status(t runtime.ErrorType) int {
	switch t {
	case requestUnauthorized:
		return http.StatusUnauthorized
	case requestForbidden:
		return http.StatusForbidden
	case requestNotFound:
		return http.StatusNotFound
	case requestInvalid:
		return http.StatusBadRequest
	case requestConflict:
		return http.StatusUnprocessableEntity
	}
	return t.HTTPStatus()
}

// retryAfter is when a tenant whose queue is full may try again, in seconds.
const retryAfter = "1"

// handler answers one kind of request of a known caller.
type handler func(w http.ResponseWriter, r *http.Request, c caller)

// Handler answers the requests of tenants and operators.
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]handler{
		"POST /v1/tenants/{tenant}/scripts/{script...}": h.invoke,
		"GET /v1/invocations":                           h.list,
		"GET /v1/invocations/{id}":                      h.get,
		"DELETE /v1/invocations/{id}":                   h.cancel,
		"GET /v1/tenants/{tenant}/locks":                h.listLocks,
		"DELETE /v1/tenants/{tenant}/locks/{name...}":   h.freeLock,
		"/": func(w http.ResponseWriter, r *http.Request, _ caller) { notFound(w) },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c, err := h.keys.caller(r)
			if err != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, runtime.Errorf(requestUnauthorized, "%v", err))
				return
			}
			answer(w, r, c)
		})
	}
	if len(h.keys) == 0 {
		return h.guarded(http.NewCrossOriginProtection().Handler(localOnly(mux)))
	}
	return h.guarded(mux)
}

// InternalHandler answers the platform: /healthz, /readyz and /metrics. Under
// which name it asks doesn't matter.
func (h *Host) InternalHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, h.Ready()) })
	if h.config.Metrics != nil {
		mux.Handle("GET /metrics", h.config.Metrics)
	}
	return h.guarded(mux)
}

func answerHealth(w http.ResponseWriter, ok bool) {
	code := http.StatusOK
	if !ok {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, map[string]bool{"ok": ok})
}

// guarded answers for a handler that panics, and sees to it that no body is
// waited for that nobody reads.
func (h *Host) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// Not every kind of connection has deadlines; those of a server do.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTime))
		}
		defer func() {
			if p := recover(); p != nil {
				h.config.Log.Error("a request panicked", append(stackOf(p), zap.String("pattern", r.Pattern))...)
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

// invoke is POST /v1/tenants/{tenant}/scripts/{script...}/invocations.
func (h *Host) invoke(w http.ResponseWriter, r *http.Request, c caller) {
	script, ok := strings.CutSuffix(r.PathValue("script"), "/invocations")
	if !ok {
		notFound(w)
		return
	}
	inv, failed := h.read(w, r, c, script)
	if failed == nil {
		inv, failed = h.accept(inv)
	}
	if failed != nil {
		if refused := h.config.Events.Refused; refused != nil {
			refused(failed.Type)
		}
		refuse(w, failed)
		return
	}
	if _, async := prefers(r.Header, "respond-async"); async {
		w.Header().Set("Location", "/v1/invocations/"+inv.id)
		w.Header().Set("Preference-Applied", "respond-async")
		h.show(w, http.StatusAccepted, inv)
		return
	}
	select {
	case <-inv.done:
		code := http.StatusOK
		if inv.failure != nil {
			code = status(inv.failure.Type)
		}
		write(w, code, inv.body)
	case <-r.Context().Done():
		if !inv.detached {
			h.stop(inv, errGone)
		}
	}
}

// read makes an invocation of a request.
func (h *Host) read(w http.ResponseWriter, r *http.Request, c caller, script string) (*invocation, *runtime.Error) {
	id := r.PathValue("tenant")
	if !c.operator && string(c.tenant) != id {
		// As if there were no such tenant, whether there is or not.
		return nil, tenantUnknown(id)
	}
	limit, failed := timeout(r.Header)
	if failed != nil {
		return nil, failed
	}
	known := tenant.ID(id)
	if _, ok := h.config.Tenants[known]; !ok {
		return nil, tenantUnknown(id)
	}
	event := &arriving{ReadCloser: r.Body, in: h.intake, id: known}
	defer event.leave()
	r.Body = event
	body, failed := readBody(w, r)
	if failed != nil {
		return nil, failed
	}
	// Of its own: a part of the request's path would keep all of that.
	work, failed := h.config.Tenants.Resolve(id, strings.Clone(script), body)
	if failed != nil {
		return nil, failed
	}
	inv := &invocation{
		id: runtime.NewID(time.Now()), tenant: work.Tenant, script: work.Script, work: work, raw: body, size: int64(len(body)),
		timeout: min(limit, work.Limits.WithDefaults().Timeout), trace: traceID(r.Header),
		ctx: h.config.Context(context.Background(), r.Header),
	}
	if keys := r.Header.Values("Idempotency-Key"); len(keys) > 0 {
		if len(keys) > 1 || keys[0] == "" || len(keys[0]) > replayKeyMax {
			return nil, runtime.Errorf(requestInvalid, "Idempotency-Key: want one of 1 to %d bytes", replayKeyMax)
		}
		inv.key, inv.digest, inv.detached = &replayKey{inv.tenant, inv.script, keys[0]}, sha256.Sum256(body), true
	}
	return inv, nil
}

func tenantUnknown(id string) *runtime.Error {
	_, unknown := runtime.Directory{}.Resolve(id, "", nil)
	return unknown
}

// replayKeyMax is the longest Idempotency-Key.
const replayKeyMax = 255

// readBody reads an event, for as long as bodyTime. What is left of one that is
// refused has unreadTime.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *runtime.Error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, runtime.Errorf(requestInvalid, "Content-Encoding %.40q: send the event as it is", e)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // see guarded
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, runtime.EventBytesMax))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	}
	_ = control.SetReadDeadline(time.Now().Add(unreadTime))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, runtime.Errorf(runtime.EventTooLarge, "the event has more than %d bytes", tooLarge.Limit)
	}
	if throttled, ok := errors.AsType[*runtime.Error](err); ok {
		return nil, throttled
	}
	return nil, runtime.Errorf(runtime.EventInvalid, "the event did not arrive: %v", err)
}

// timeout reads X-Timeout-Ms.
func timeout(header http.Header) (time.Duration, *runtime.Error) {
	text := header.Get("X-Timeout-Ms")
	if text == "" {
		return math.MaxInt64, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1 {
		return 0, runtime.Errorf(requestInvalid, "X-Timeout-Ms %.40q: want a whole number of milliseconds, 1 or more", text)
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, nil
}

// prefers says whether a request has a preference, RFC 7240, and its value.
func prefers(header http.Header, preference string) (value string, ok bool) {
	for _, line := range header.Values("Prefer") {
		for one := range strings.SplitSeq(line, ",") {
			one, _, _ = strings.Cut(one, ";")
			name, value, _ := strings.Cut(one, "=")
			if strings.EqualFold(strings.TrimSpace(name), preference) {
				return strings.TrimSpace(value), true
			}
		}
	}
	return "", false
}

// traceID is the trace that a request belongs to, as its traceparent says; ""
// if it says nothing that can be read.
func traceID(header http.Header) string {
	text := header.Get("Traceparent")
	if len(text) > traceParentMax {
		return ""
	}
	parts := strings.Split(text, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}

// traceParentMax is more than a traceparent has, whose later versions may be
// longer than today's 55 bytes. It is kept as long as the invocation.
const traceParentMax = 256

// find returns an invocation that exists for the caller.
func (h *Host) find(w http.ResponseWriter, r *http.Request, c caller) *invocation {
	h.mu.Lock()
	inv := h.known[r.PathValue("id")]
	h.mu.Unlock()
	if inv == nil || !c.may(inv.tenant) {
		refuse(w, runtime.Errorf(requestNotFound, "there is no invocation %.40q, or its result is not kept any more", r.PathValue("id")))
		return nil
	}
	return inv
}

// waitMax is the longest wait for a result, in seconds.
const waitMax = 3600

// get is GET /v1/invocations/{id}. With Prefer: wait=SECONDS it waits for the
// result.
func (h *Host) get(w http.ResponseWriter, r *http.Request, c caller) {
	inv := h.find(w, r, c)
	if inv == nil {
		return
	}
	text, _ := prefers(r.Header, "wait")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		timer := time.NewTimer(time.Duration(min(seconds, waitMax)) * time.Second)
		defer timer.Stop()
		select {
		case <-inv.done:
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	h.show(w, http.StatusOK, inv)
}

func (h *Host) show(w http.ResponseWriter, code int, inv *invocation) {
	h.mu.Lock()
	s := inv.summary()
	s.Result = bytes.TrimSuffix(inv.body, []byte("\n"))
	h.mu.Unlock()
	answer(w, code, s)
}

// cancel is DELETE /v1/invocations/{id}. It answers 202 as long as the
// invocation isn't over.
func (h *Host) cancel(w http.ResponseWriter, r *http.Request, c caller) {
	inv := h.find(w, r, c)
	if inv == nil {
		return
	}
	h.stop(inv, errAsked)
	code := http.StatusAccepted
	select {
	case <-inv.done:
		code = http.StatusOK
	default:
	}
	h.show(w, code, inv)
}

// pageMax is how many entries a list has at most.
const pageMax = 1000

// list is GET /v1/invocations?state=&tenant=&after=. Results are not in it.
func (h *Host) list(w http.ResponseWriter, r *http.Request, c caller) {
	query := r.URL.Query()
	want, of, after := state(query.Get("state")), query.Get("tenant"), query.Get("after")
	if err := want.valid(); err != nil {
		refuse(w, runtime.Errorf(requestInvalid, "%v", err))
		return
	}
	page := struct {
		Invocations []summary `json:"invocations"`
		After       string    `json:"after,omitempty"`
	}{Invocations: []summary{}}
	h.mu.Lock()
	for _, inv := range h.known {
		if c.may(inv.tenant) && (of == "" || of == string(inv.tenant)) && (want == "" || want == inv.state) && inv.id > after {
			page.Invocations = append(page.Invocations, inv.summary())
		}
	}
	h.mu.Unlock()
	slices.SortFunc(page.Invocations, func(a, b summary) int { return strings.Compare(a.ID, b.ID) })
	if len(page.Invocations) > pageMax {
		page.Invocations = page.Invocations[:pageMax]
		page.After = page.Invocations[pageMax-1].ID
	}
	answer(w, http.StatusOK, page)
}

func notFound(w http.ResponseWriter) {
	refuse(w, runtime.Errorf(requestNotFound, "there is no such resource or method"))
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, e *runtime.Error) { refuseAs(w, status(e.Type), e) }

func refuseAs(w http.ResponseWriter, code int, e *runtime.Error) {
	if e.Type == runtime.TenantThrottled {
		w.Header().Set("Retry-After", retryAfter)
	}
	answer(w, code, struct {
		OK    bool           `json:"ok"`
		Error *runtime.Error `json:"error"`
	}{Error: e})
}

func answer(w http.ResponseWriter, code int, v any) { write(w, code, line(v)) }

func write(w http.ResponseWriter, code int, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // see readBody
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // a caller that has gone is none of our trouble
}
