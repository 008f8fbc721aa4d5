package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Codes of the errors that native.stream raises.
const (
	CodeUnknown  = "stream_unknown"   // the host has named no such stream
	CodeClosed   = "stream_closed"    // closed by the script, or cut off
	CodeFailed   = "stream_failed"    // it broke off, or can't be opened or written
	CodeTooLarge = "stream_too_large" // a line, record or text is over its limit
	CodeJSON     = "stream_json"      // a line that is no JSON
	CodeCSV      = "stream_csv"       // a record that is no CSV
	CodeBusy     = "stream_busy"      // too many are open in this run
)

// fail is an error of a verb.
func fail(code, op, format string, args ...any) *outcome.Error {
	return &outcome.Error{Code: code, Op: op, Message: fmt.Sprintf(format, args...)}
}

// failed is the error of a source or sink as scripts may see it: their own
// words, or none at all, since Go's name paths and addresses.
func failed(op string, err error, words string) *outcome.Error {
	if known, ok := errors.AsType[*outcome.Error](err); ok {
		named := *known
		if named.Op == "" {
			named.Op = op
		}
		return &named
	}
	return &outcome.Error{Code: CodeFailed, Op: op, Message: words, Cause: err}
}

// isEnd says whether err is the end of a stream.
func isEnd(err error) bool { return err == io.EOF }
