package api

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// read makes the request of an invocation from that of HTTP.
func (a *API) read(w http.ResponseWriter, r *http.Request, c caller, script string) (Request, *runtime.Error) {
	id := tenant.ID(r.PathValue("tenant"))
	if !c.may(id) {
		// As if there were no such tenant, whether there is or not.
		return Request{}, tenantUnknown(id)
	}
	limit, failed := timeLimit(r.Header)
	if failed != nil {
		return Request{}, failed
	}
	if !c.knows(id) {
		return Request{}, tenantUnknown(id)
	}
	body := &countingReader{ReadCloser: r.Body, inFlight: a.inFlight, tenant: id}
	defer body.release()
	r.Body = body
	event, failed := readBody(w, r)
	if failed != nil {
		return Request{}, failed
	}
	// A clone: a part of the request's path would keep all of that.
	work, failed := c.access.tenants.Resolve(string(id), strings.Clone(script), event)
	if failed != nil {
		if failed.Cause != nil {
			a.config.Log.Error("a script can't be read", zap.String("tenantId", string(id)), zap.String("script", script), zap.Error(failed.Cause))
		}
		return Request{}, failed
	}
	key, failed := idempotencyKey(r.Header)
	if failed != nil {
		return Request{}, failed
	}
	work.ID = runtime.NewID(time.Now())
	work.Limits.Timeout = min(limit, work.Limits.WithDefaults().Timeout)
	return Request{Work: work, Event: event, Key: key, Trace: traceID(r.Header), Caller: c.name}, nil
}

func tenantUnknown(id tenant.ID) *runtime.Error {
	_, unknown := runtime.Directory{}.Resolve(string(id), "", nil)
	return unknown
}

// readBody reads an event within bodyTimeout. What is left of one that is
// refused has unreadTimeout.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *runtime.Error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, runtime.Errorf(requestInvalid, "Content-Encoding %.40q: send the event as it is", e)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // see protected
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, runtime.EventBytesMax))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	}
	_ = control.SetReadDeadline(time.Now().Add(unreadTimeout))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, runtime.Errorf(runtime.EventTooLarge, "the event has more than %d bytes", tooLarge.Limit)
	}
	if throttled, ok := errors.AsType[*runtime.Error](err); ok {
		return nil, throttled
	}
	return nil, runtime.Errorf(runtime.EventInvalid, "the event did not arrive: %v", err)
}

// timeLimit reads X-Timeout-Ms.
func timeLimit(header http.Header) (time.Duration, *runtime.Error) {
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

// keyMax is the longest Idempotency-Key.
const keyMax = 255

// idempotencyKey reads Idempotency-Key, "" if there is none.
func idempotencyKey(header http.Header) (string, *runtime.Error) {
	keys := header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > keyMax {
		return "", runtime.Errorf(requestInvalid, "Idempotency-Key: want one of 1 to %d bytes", keyMax)
	}
	return keys[0], nil
}

// prefers reports whether a request has a preference, RFC 7240, and its value.
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

// traceParentMax is more than a traceparent has, whose later versions may be
// longer than today's 55 bytes. It is kept as long as the invocation.
const traceParentMax = 256

// traceID is the id of the trace that a request belongs to, as its traceparent
// says; "" if there is none or it can't be read.
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
