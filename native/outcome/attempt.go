// Package outcome describes how a request of a native call to something outside
// has ended: [Outcome] and [Attempt] for one attempt, and [Error] for what a
// script sees. It is plain Go, so that stores and engines don't depend on Lua.
package outcome

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Outcome is what is known about one request to a store once the attempt is
// over.
type Outcome int

const (
	// Unknown: the request may have reached the store, and no answer that
	// decides came back. A write may or may not have been applied, and may
	// still land.
	Unknown Outcome = iota
	// Applied: the store has carried out the request.
	Applied
	// Refused: the condition of the request did not hold. Nothing was changed.
	Refused
	// NotApplied: the store did not act, because the request never left
	// (refused connection, name not found) or was turned down (throttled,
	// malformed, denied). Err has the reason.
	NotApplied
)

// String returns o in lower case.
func (o Outcome) String() string {
	return [...]string{"unknown", "applied", "refused", "not_applied"}[o]
}

// Attempt describes one request to a store: exactly one, never repeated below
// the interface that returns it.
type Attempt struct {
	Outcome Outcome
	// Err is the cause when Outcome is Unknown or NotApplied, else nil. It is
	// an *Error wherever the cause is known.
	Err error
	// Sent and Received are the readings of the process's clock right before
	// the request went out and right after its answer was complete.
	Sent, Received clock.Reading
	// Date is the store's own clock in the answer, cut down to whole seconds;
	// zero when the answer had none, and always with embedded engines.
	Date time.Time
}
