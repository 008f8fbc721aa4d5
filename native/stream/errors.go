package stream

import (
	"errors"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Codes of the errors that native.stream raises.
const (
	CodeUnknown  = "stream_unknown"   // the host offers no stream of this name
	CodeClosed   = "stream_closed"    // the script has closed it, or an interrupt has
	CodeFailed   = "stream_failed"    // it broke off, or can't be opened or written
	CodeTooLarge = "stream_too_large" // a line, record or text is over its limit
	CodeJSON     = "stream_json"      // a line isn't JSON
	CodeCSV      = "stream_csv"       // a record isn't CSV
	CodeBusy     = "stream_busy"      // too many streams are open in this run
)

// fail returns the error of an operation.
func fail(code, op, format string, args ...any) *outcome.Error {
	return &outcome.Error{Code: code, Op: op, Message: fmt.Sprintf(format, args...)}
}

// classify returns the error of a source or sink as scripts may see it: an
// [*outcome.Error] as it is, and message for any other, since Go's own text
// names paths and addresses.
func classify(op string, err error, message string) *outcome.Error {
	if known, ok := errors.AsType[*outcome.Error](err); ok {
		named := *known
		if named.Op == "" {
			named.Op = op
		}
		return &named
	}
	return &outcome.Error{Code: CodeFailed, Op: op, Message: message, Cause: err}
}

// withContext adds the name of the stream to an error.
func withContext(name string, e *outcome.Error) error {
	e.Key = name
	return e
}
