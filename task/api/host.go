package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Host is what the API needs of the host that runs the invocations.
type Host interface {
	// Start accepts an invocation to be run, or returns the one that a request
	// with the same key has started. ctx is the context of its run. It is an
	// error if the tenant's queue is full, the host stops, or the key was used
	// for another event.
	Start(ctx context.Context, r Request) (Invocation, *runtime.Error)
	// Find returns the invocation with an id, false if there is none or its
	// result is not kept any more.
	Find(id string) (Invocation, bool)
	// Invocations returns all invocations, in no order.
	Invocations() []Invocation
	// Cancel ends an invocation, if it isn't over. One that waits is over when
	// Cancel returns, one that runs is over soon.
	Cancel(id string, cause error)
	// Problems are why the host should be sent no invocations; none if it is
	// ready.
	Problems() []Problem
}

// Problem is a reason why a host isn't ready.
type Problem struct {
	// Check names what isn't well: "stopping", "table" or "file".
	Check string `json:"check"`
	// Reason says what is wrong, for operators.
	Reason string `json:"reason"`
}

// Request is a request for an invocation.
type Request struct {
	// Work is what to run, with its ID. The host takes it over.
	Work *runtime.Invocation
	// Event is the text that the event of Work was read from.
	Event []byte
	// Key is the request's idempotency key, "" for none. Requests of the same
	// tenant, script and key are one invocation.
	Key string
	// Trace is the id of the trace that the request belongs to, "" for none.
	Trace string
	// Caller is the name of the token that the request had, "" for none.
	Caller string
}

// Invocation is an invocation that a host has accepted.
type Invocation interface {
	ID() string
	Tenant() tenant.ID
	// Done returns a channel that is closed when there is a result.
	Done() <-chan struct{}
	// Result returns the result as one line of JSON, and its error, nil if the
	// run has succeeded. It may be called once Done is closed.
	Result() (line []byte, failure *runtime.Error)
	// Status describes the invocation as it is now.
	Status() Status
}

// State is the state of an invocation.
type State string

// The states of an invocation, in their order.
const (
	Queued   State = "queued"
	Running  State = "running"
	Finished State = "finished"
)

func (s State) valid() error {
	switch s {
	case "", Queued, Running, Finished:
		return nil
	}
	return fmt.Errorf("state %.40q: want queued, running or finished", string(s))
}

// Status is an invocation as the API shows it.
type Status struct {
	ID       string    `json:"id"`
	Tenant   tenant.ID `json:"tenant"`
	Script   string    `json:"script"`
	Schedule string    `json:"schedule,omitempty"` // that it was started by, "" for a request
	State    State     `json:"state"`
	Accepted time.Time `json:"accepted_at"`
	// Started is nil before the run has begun.
	Started *time.Time `json:"started_at,omitempty"`
	// Abandoned reports that the run did not come back, and that the result was
	// made without it.
	Abandoned bool            `json:"abandoned,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
}
