package outcome

import "strings"

// Error is an error that a native call raises. A script sees it as a table with
// these fields (lower case, unset ones absent), whose tostring is [Error.Error].
type Error struct {
	// Code is for programs: stable, lower case, prefixed by the module
	// ("db_throttled").
	Code string
	// Message is for a reader: what went wrong, and with which values. It never
	// names another tenant.
	Message string
	// Retryable reports whether the same call may succeed later.
	Retryable bool
	// Op is the operation ("put"), and Key the key that it was about.
	Op, Key string
	// Applied is "no" or "unknown" for writes, "" where it makes no sense.
	Applied string
	// Cause is the error below, for logs only: scripts never see it.
	Cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	if e.Op != "" {
		b.WriteString(" in ")
		b.WriteString(e.Op)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Cause }

// Values of [Error.Applied].
const (
	AppliedNo      = "no"
	AppliedUnknown = "unknown"
)
