package task

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// state is how far an invocation has come.
type state string

const (
	queued   state = "queued"
	running  state = "running"
	finished state = "finished"
)

// invocation is what the host has accepted to run.
type invocation struct {
	id       string
	tenant   tenant.ID
	script   string
	schedule string // that it was started by; "" for a request
	trace    string // trace id of the request, "" if it had none
	timeout  time.Duration
	accepted time.Time
	work     *runtime.Invocation
	ticket   *ticket
	key      *replayKey // under which the request can be repeated; nil if it can't
	digest   [32]byte   // of its event
	raw      []byte     // its event as it came, while it waits; guarded by the host's lock
	size     int64      // of its event, in bytes
	detached bool       // goes on when its caller hangs up, who can come back

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed once there is a result

	// Guarded by the host's lock.
	state     state
	started   time.Time
	reaper    *time.Timer    // gives it a result when its run doesn't come back
	failure   *runtime.Error // why the result has no value
	body      []byte         // the result as JSON, written before done is closed
	abandoned bool
}

// overdue is how long after its end a run may take to come back: it frees its
// locks, each within 2 s.
const overdue = 10 * time.Second

// Causes of cancellation, as results tell them.
var (
	errAsked = errors.New("on request")
	errGone  = errors.New("the caller has gone")
)

// accept puts an invocation in the queue, or returns the one that a request
// with the same key has made. It is an error if the queue is full, the host
// stops, or the key belongs to another event.
func (h *Host) accept(inv *invocation) (*invocation, *runtime.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if inv.key != nil {
		if old := h.replays[*inv.key]; old != nil {
			if old.digest != inv.digest {
				return nil, runtime.Errorf(requestConflict, "the Idempotency-Key was used for another event")
			}
			return old, nil
		}
	}
	if h.draining {
		return nil, shutdown()
	}
	h.prepare(inv)
	inv.state = queued
	t := &ticket{tenant: inv.tenant, script: inv.script, bytes: inv.size}
	t.start = func() { h.start(inv, t) }
	inv.ticket = t
	if failed := h.queue.enter(t); failed != nil {
		inv.cancel(nil)
		return nil, failed
	}
	// What waits takes the memory that it is counted with: a text that is read
	// can be twenty times as large.
	if t.waits {
		inv.work.Event = nil
	} else {
		inv.raw = nil
	}
	h.register(inv)
	h.open.Add(1)
	return inv, nil
}

// prepare gives an invocation what it needs before anybody knows it.
func (h *Host) prepare(inv *invocation) {
	if inv.ctx == nil {
		inv.ctx = context.Background()
	}
	inv.ctx, inv.cancel = context.WithCancelCause(inv.ctx)
	inv.done = make(chan struct{})
	inv.accepted = time.Now()
	inv.work.ID = inv.id
	inv.work.Log = h.config.RunLog(inv.work)
}

// register adds an invocation to what the host knows; it needs the lock.
func (h *Host) register(inv *invocation) {
	h.known[inv.id] = inv
	if inv.key != nil {
		h.replays[*inv.key] = inv
	}
}

// start runs an invocation that has got its slot.
func (h *Host) start(inv *invocation, t *ticket) {
	defer h.queue.leave(t)
	h.mu.Lock()
	work, raw := h.begin(inv), inv.raw
	inv.raw = nil
	h.mu.Unlock()
	if work == nil {
		return
	}
	if raw != nil {
		work.Event, _ = runtime.ParseEvent(raw) // it could be read when it came
	}
	h.execute(inv, *work)
}

// begin marks an invocation as running and returns what to run, nil if it is
// over already. It needs the lock.
func (h *Host) begin(inv *invocation) *runtime.Invocation {
	if inv.state == finished {
		return nil
	}
	inv.state, inv.started = running, time.Now()
	inv.work.Limits.Timeout = inv.timeout
	inv.reaper = time.AfterFunc(saturated(inv.timeout, overdue), func() {
		h.abandon(inv, runtime.Errorf(runtime.Timeout, "the run did not come back %v after its timeout of %v", overdue, inv.timeout))
	})
	return inv.work
}

// saturated is a + b, or the longest duration if there is none so long.
func saturated(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// execute runs the script and gives the invocation its result.
func (h *Host) execute(inv *invocation, work runtime.Invocation) {
	if started := h.config.Events.Started; started != nil {
		started(inv.tenant, inv.started.Sub(inv.accepted))
	}
	if h.settle(inv, h.runScript(inv, work), false) {
		return
	}
	h.log(inv).Warn("a run that was given up has come back")
	if returned := h.config.Events.Returned; returned != nil {
		returned(inv.tenant)
	}
}

// runScript is one run of the engine.
func (h *Host) runScript(inv *invocation, work runtime.Invocation) *runtime.Result {
	if cause := context.Cause(inv.ctx); cause != nil {
		return failed(inv, causeError(cause))
	}
	return safely(inv.ctx, h.config.Engine, work, func(p any) { h.log(inv).Error("a run panicked", stackOf(p)...) })
}

// safely runs a script. Whatever panics outside of the script is an error of
// this run alone.
func safely(ctx context.Context, engine Runner, work runtime.Invocation, panicked func(any)) (r *runtime.Result) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			panicked(p)
			r = &runtime.Result{ID: work.ID, StartedAt: began, Error: runtime.Errorf(runtime.HostInternal, "the host failed")}
		}
	}()
	r = engine.Run(ctx, work)
	if e := r.Error; e != nil && e.Type == runtime.Cancelled && errors.As(context.Cause(ctx), new(runtime.Shutdown)) {
		r.Error = shutdown() // cancelled before it was compiled
	}
	return r
}

// failed is the result of an invocation that its run has none for.
func failed(inv *invocation, e *runtime.Error) *runtime.Result {
	r := &runtime.Result{ID: inv.id, Error: e, StartedAt: inv.started}
	if inv.started.IsZero() {
		r.StartedAt = inv.accepted
	} else {
		r.Duration = time.Since(inv.started)
	}
	return r
}

// settle gives an invocation its result, exactly once: it returns false if it
// has one. abandoned says that its run goes on.
func (h *Host) settle(inv *invocation, r *runtime.Result, abandoned bool) bool {
	body := resultLine(r)
	h.mu.Lock()
	if inv.state == finished {
		h.mu.Unlock()
		return false
	}
	inv.state, inv.failure, inv.body = finished, r.Error, body
	inv.abandoned = abandoned
	if inv.reaper != nil {
		inv.reaper.Stop()
	}
	inv.work, inv.raw, inv.ticket, inv.reaper = nil, nil, nil, nil // the event may be large, and there are many results
	h.results.keep(h, inv)
	close(inv.done)
	h.mu.Unlock()
	inv.cancel(nil)
	h.report(inv, r)
	h.open.Done()
	return true
}

// resultLine is line, without a second look at JSON that is right.
func resultLine(r *runtime.Result) []byte {
	text, err := r.MarshalJSON()
	if err != nil {
		panic(err) // as in line
	}
	return append(text, '\n')
}

// line is what the host hands out: one line of JSON.
func line(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings, numbers and JSON
	}
	return append(text, '\n')
}

// stop cancels an invocation: one that waits is over at once, one that runs
// soon.
func (h *Host) stop(inv *invocation, cause error) {
	h.mu.Lock()
	if inv.state == finished {
		h.mu.Unlock()
		return
	}
	waits := inv.state == queued && h.queue.withdraw(inv.ticket)
	// Asking again, or after its time, doesn't give it longer.
	if !waits && inv.reaper != nil && context.Cause(inv.ctx) == nil && time.Since(inv.started) < inv.timeout {
		inv.reaper.Stop()
		inv.reaper = time.AfterFunc(overdue, func() { h.abandon(inv, causeError(cause)) })
	}
	h.mu.Unlock()
	inv.cancel(cause)
	if waits {
		h.settle(inv, failed(inv, causeError(cause)), false)
	}
}

// causeError is the error of an invocation that was cancelled for a cause.
func causeError(cause error) *runtime.Error {
	if errors.As(cause, new(runtime.Shutdown)) {
		return shutdown()
	}
	return runtime.Errorf(runtime.Cancelled, "cancelled: %v", cause)
}

// abandon gives an invocation a result whose run doesn't come back.
func (h *Host) abandon(inv *invocation, e *runtime.Error) {
	if !h.settle(inv, failed(inv, e), true) {
		return
	}
	h.log(inv).Error("a run did not come back after its end and was given up; it keeps its slot")
	if abandoned := h.config.Events.Abandoned; abandoned != nil {
		abandoned(inv.tenant)
	}
}

// replayKey is what a repeated request has in common with the first.
type replayKey struct {
	tenant tenant.ID
	script string
	key    string
}

// summary is an invocation as the interface shows it.
type summary struct {
	ID        string             `json:"id"`
	Tenant    tenant.ID          `json:"tenant"`
	Script    string             `json:"script"`
	Schedule  string             `json:"schedule,omitempty"`
	State     state              `json:"state"`
	Accepted  time.Time          `json:"accepted_at"`
	Started   *time.Time         `json:"started_at,omitempty"`
	Abandoned bool               `json:"abandoned,omitempty"`
	Result    stdjson.RawMessage `json:"result,omitempty"`
}

// summary needs the lock.
func (inv *invocation) summary() summary {
	s := summary{
		ID: inv.id, Tenant: inv.tenant, Script: inv.script, Schedule: inv.schedule,
		State: inv.state, Accepted: inv.accepted.UTC(), Abandoned: inv.abandoned,
	}
	if !inv.started.IsZero() {
		at := inv.started.UTC()
		s.Started = &at
	}
	return s
}

func (s state) valid() error {
	switch s {
	case "", queued, running, finished:
		return nil
	}
	return fmt.Errorf("state %.40q: want queued, running or finished", string(s))
}
