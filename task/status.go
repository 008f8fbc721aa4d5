package task

import (
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/tenant"
)

var _ api.Invocation = (*invocation)(nil)

// ID implements [api.Invocation].
func (inv *invocation) ID() string { return inv.id }

// Tenant implements [api.Invocation].
func (inv *invocation) Tenant() tenant.ID { return inv.tenant }

// Done implements [api.Invocation].
func (inv *invocation) Done() <-chan struct{} { return inv.done }

// Result implements [api.Invocation].
func (inv *invocation) Result() (line []byte, failure *runtime.Error) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.line, inv.failure
}

// Status implements [api.Invocation].
func (inv *invocation) Status() api.Status {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	s := api.Status{
		ID: inv.id, Tenant: inv.tenant, Script: inv.script, Schedule: inv.schedule,
		State: inv.state, Accepted: inv.accepted.UTC(), Abandoned: inv.abandoned, Result: inv.line,
	}
	if !inv.started.IsZero() {
		at := inv.started.UTC()
		s.Started = &at
	}
	return s
}

func (inv *invocation) isFinished() bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.state == api.Finished
}

func (inv *invocation) isAbandoned() bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.abandoned
}

// runningFor reports whether the invocation has been running for d or longer.
func (inv *invocation) runningFor(d time.Duration) bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.state == api.Running && time.Since(inv.started) >= d
}

// waited is how long the invocation has been in the queue.
func (inv *invocation) waited() time.Duration {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.started.IsZero() {
		return time.Since(inv.accepted)
	}
	return inv.started.Sub(inv.accepted)
}

// failed is the result of an invocation that has none of its run.
func (inv *invocation) failed(e *runtime.Error) *runtime.Result {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.started.IsZero() {
		return &runtime.Result{ID: inv.id, Error: e, StartedAt: inv.accepted}
	}
	return &runtime.Result{ID: inv.id, Error: e, StartedAt: inv.started, Duration: time.Since(inv.started)}
}

// fields identify the invocation in the log.
func (inv *invocation) fields() []zap.Field {
	fields := runlog.Run(string(inv.tenant), inv.script, inv.id)
	if inv.schedule != "" {
		fields = append(fields, zap.String("schedule", inv.schedule))
	}
	if inv.caller != "" {
		fields = append(fields, zap.String("caller", inv.caller))
	}
	if inv.trace != "" {
		fields = append(fields, zap.String("traceId", inv.trace))
	}
	return fields
}
