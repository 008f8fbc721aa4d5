package db

import (
	"errors"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Codes of the errors that native.db raises.
const (
	CodeKey         = "db_key"         // a key or partition name was refused
	CodeValue       = "db_value"       // a value was refused
	CodeOption      = "db_option"      // an option was refused
	CodeTooLarge    = "db_too_large"   // a value, batch or transaction is over a limit
	CodeType        = "db_type"        // add on something that is not a whole number
	CodeBudget      = "db_budget"      // the run has used up its data operations
	CodeContention  = "db_contention"  // too many races were lost
	CodeThrottled   = "db_throttled"   // the store kept rejecting requests because of its load
	CodeUnavailable = "db_unavailable" // the store can't be reached or used
	CodeUnknown     = "db_unknown"     // a write was sent, and whether it was applied is unknown
)

// refuse makes the error for an argument that is refused before any request.
func refuse(code, format string, args ...any) *outcome.Error {
	return &outcome.Error{Code: code, Message: fmt.Sprintf(format, args...), Applied: outcome.AppliedNo}
}

// withContext adds the operation and the key to err, where it has none.
func withContext(err error, op, key string) error {
	var e *outcome.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	named := *e
	if named.Op == "" {
		named.Op = op
	}
	if named.Key == "" {
		named.Key = key
	}
	return &named
}

// notApplied marks err, the error of a read that precedes a write, as not applied:
// nothing was written.
func notApplied(err error) error {
	e, ok := errors.AsType[*outcome.Error](err)
	if !ok {
		return err
	}
	known := *e
	known.Applied = outcome.AppliedNo
	return &known
}

// contentionError makes the error for a write that lost every race.
func contentionError(op, key string) error {
	return &outcome.Error{
		Code: CodeContention, Message: "others kept changing the entry",
		Op: op, Key: key, Retryable: true, Applied: outcome.AppliedNo,
	}
}
