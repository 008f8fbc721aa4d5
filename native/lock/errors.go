package lock

import (
	"errors"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// ErrHeld is the error of a call that could not acquire a lock in time because
// it is held.
const ErrHeld = constError("the lock is held")

// constError is an error that no other package can replace.
type constError string

func (e constError) Error() string { return string(e) }

// Codes of the errors that this package makes, which are of type
// [*outcome.Error].
const (
	CodeUnavailable = "db_unavailable" // the table or its time can't be reached
	CodeBudget      = "db_budget"      // the budget of requests is used up
	CodeReentered   = "lock_reentered" // the run already holds the lock that it waits for
)

// opLock is the Op of these errors.
const opLock = "lock"

// BudgetError is the error of a call that may send no more requests because the
// budget called name, of limit requests, is used up.
func BudgetError(key Key, name string, limit int64) error {
	return newError(CodeBudget, key, false, "%s: all %d are used up", name, limit)
}

// classify returns the error of an attempt that has no usable answer, with the
// lock as its context. It is final if another attempt is of no use: there is no
// such table, or no access to it. An answered attempt has no error.
func classify(key Key, at outcome.Attempt) result {
	if at.Outcome == outcome.Applied || at.Outcome == outcome.Refused {
		return result{}
	}
	known, ok := errors.AsType[*outcome.Error](at.Err)
	e := outcome.Error{Code: CodeUnavailable, Message: "the table did not answer", Retryable: true, Cause: at.Err}
	if ok {
		e = *known
	}
	e.Op, e.Key = opLock, key.Name
	return result{err: &e, final: at.Outcome == outcome.NotApplied && ok && !known.Retryable}
}

func newError(code string, key Key, retryable bool, format string, args ...any) error {
	return &outcome.Error{
		Code: code, Message: fmt.Sprintf(format, args...), Retryable: retryable,
		Op: opLock, Key: key.Name, Applied: outcome.AppliedNo,
	}
}

func errNoTable(key Key) error {
	return newError(CodeUnavailable, key, false,
		"locks of scope \"db\" need a table: set db.table or db.file in the configuration")
}

func errTimeUnknown(key Key) error {
	return newError(CodeUnavailable, key, true,
		"the table's time is not known to %v: its answer was too slow or had no date", knownWidthMax)
}

func errHostEnded(key Key) error {
	return newError(CodeUnavailable, key, true, "the host ended before the table could be reached")
}

func errContradicted(key Key) error {
	return newError(CodeUnavailable, key, true,
		"the table's clock contradicts its earlier answers")
}

func errReentered(key Key) error {
	return newError(CodeReentered, key, false,
		"this run already holds %q, so its turn can never come", key.Name)
}
