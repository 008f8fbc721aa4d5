package runtime

import (
	stdjson "encoding/json"
	"time"

	"github.com/tidelock-lua/tidelock/native/json"
)

// MarshalJSON returns a result as hosts return it: id, ok, value or error,
// started_at, duration_ms, counters. ok tells a value that looks like an error
// from an error.
func (r *Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string             `json:"id"`
		OK        bool               `json:"ok"`
		Value     stdjson.RawMessage `json:"value,omitempty"`
		Error     *Error             `json:"error,omitempty"`
		StartedAt time.Time          `json:"started_at"`
		Duration  float64            `json:"duration_ms"`
		Counters  Counters           `json:"counters"`
	}{
		ID: r.ID, OK: r.Error == nil, Value: r.JSON, Error: r.Error,
		StartedAt: r.StartedAt.UTC(), Duration: float64(r.Duration.Microseconds()) / 1000, Counters: r.Counters,
	})
}

// MarshalJSON returns an error as hosts return it: type, message, retryable and
// stack, and, if known, code, file, line and column.
func (e *Error) MarshalJSON() ([]byte, error) {
	stack := e.Stack
	if stack == nil {
		stack = []Frame{} // a list, even if it is empty
	}
	return json.Marshal(struct {
		Type      ErrorType `json:"type"`
		Message   string    `json:"message"`
		Code      string    `json:"code,omitempty"`
		Retryable bool      `json:"retryable"`
		File      string    `json:"file,omitempty"`
		Line      int       `json:"line,omitempty"`
		Column    int       `json:"column,omitempty"`
		Stack     []Frame   `json:"stack"`
	}{e.Type, e.Message, e.Code, e.Retryable, e.File, e.Line, e.Column, stack})
}
