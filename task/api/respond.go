package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner"
)

// Error types of requests that don't get as far as an invocation.
const (
	requestUnauthorized runtime.ErrorType = "Request.Unauthorized" // 401
	requestForbidden    runtime.ErrorType = "Request.Forbidden"    // 403
	requestNotFound     runtime.ErrorType = "Request.NotFound"     // 404
	requestInvalid      runtime.ErrorType = "Request.Invalid"      // 400
	requestConflict     runtime.ErrorType = "Request.Conflict"     // 422, 409 for a lock
)

// KeyConflict is the error of a request whose idempotency key was used for
// another event.
func KeyConflict() *runtime.Error {
	return runtime.Errorf(requestConflict, "the Idempotency-Key was used for another event")
}

// status is the status code of an error.
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

func notFound(w http.ResponseWriter) {
	refuse(w, runtime.Errorf(requestNotFound, "there is no such resource or method"))
}

// refuse responds with an error.
func refuse(w http.ResponseWriter, e *runtime.Error) { refuseAs(w, status(e.Type), e) }

func refuseAs(w http.ResponseWriter, code int, e *runtime.Error) {
	if e.Type == runtime.TenantThrottled {
		w.Header().Set("Retry-After", retryAfter)
	}
	respond(w, code, struct {
		OK    bool           `json:"ok"`
		Error *runtime.Error `json:"error"`
	}{Error: e})
}

// respond writes v as one line of JSON.
func respond(w http.ResponseWriter, code int, v any) { write(w, code, runner.JSONLine(v)) }

func write(w http.ResponseWriter, code int, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(responseTimeout)) // see protected
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // a caller that has gone needs no response
}
