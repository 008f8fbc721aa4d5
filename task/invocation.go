package task

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/tenant"
)

// invocation is an invocation that the host has accepted.
type invocation struct {
	id       string
	tenant   tenant.ID
	script   string
	schedule string // that it was started by, "" for a request
	trace    string // id of the request's trace, "" for none
	caller   string // name of the request's token, "" for none
	timeout  time.Duration
	accepted time.Time
	key      requestKey        // by which the request can be repeated; none if it has no key
	digest   [sha256.Size]byte // of the event, if there is a key

	ctx    context.Context // of its run
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when there is a result

	mu        sync.Mutex // guards what follows; it is locked before that of the queue
	state     api.State
	waiter    *waiter
	work      *runtime.Invocation
	event     []byte // of work, as it came, while the invocation waits
	started   time.Time
	overdue   *time.Timer // completes the invocation if its run doesn't come back
	claimed   bool        // by whoever completes it
	failure   *runtime.Error
	line      []byte // the result as JSON
	abandoned bool   // its run had not come back when it got its result
}

// overdueTime is how long after its end a run may take to come back: it frees
// its locks, each within 2 s.
const overdueTime = 10 * time.Second

// newInvocation makes an invocation of a request; ctx is the context of its run.
func newInvocation(ctx context.Context, r api.Request) *invocation {
	inv := &invocation{
		id: r.Work.ID, tenant: r.Work.Tenant, script: r.Work.Script, trace: r.Trace, caller: r.Caller,
		timeout: r.Work.Limits.WithDefaults().Timeout, accepted: time.Now(), done: make(chan struct{}),
		state: api.Queued, work: r.Work, event: r.Event,
	}
	if r.Key != "" {
		inv.key, inv.digest = requestKey{inv.tenant, inv.script, r.Key}, sha256.Sum256(r.Event)
	}
	inv.ctx, inv.cancel = context.WithCancelCause(ctx)
	return inv
}

// enqueue lets the invocation enter a queue, to be run or refused by it.
func (inv *invocation) enqueue(q *queue, run func(*waiter), refused func()) *runtime.Error {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	w := &waiter{tenant: inv.tenant, script: inv.script, bytes: int64(len(inv.event)), refused: refused}
	w.start = func() { run(w) }
	inv.waiter = w
	queued, failed := q.enter(w)
	switch {
	case failed != nil:
	case queued:
		// What waits takes the memory that it is counted with: the value of an
		// event can be twenty times as large as its text.
		inv.work.Event = nil
	default:
		inv.event = nil
	}
	return failed
}

// begin marks the invocation as running and returns what to run, false if it is
// already over. If the run doesn't come back after its time, abandon is called.
func (inv *invocation) begin(abandon func(*runtime.Error)) (work runtime.Invocation, ok bool) {
	inv.mu.Lock()
	if inv.claimed {
		inv.mu.Unlock()
		return work, false
	}
	inv.state, inv.started = api.Running, time.Now()
	inv.overdue = time.AfterFunc(saturated(inv.timeout, overdueTime), func() {
		abandon(runtime.Errorf(runtime.Timeout, "the run did not come back %v after its timeout of %v", overdueTime, inv.timeout))
	})
	work, event := *inv.work, inv.event
	inv.event = nil
	inv.mu.Unlock()
	work.Limits.Timeout = inv.timeout
	if event != nil {
		work.Event, _ = runtime.ParseEvent(event) // it was valid when it came
	}
	return work, true
}

// saturated is a + b, or the longest duration if there is none so long.
func saturated(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// stop cancels the invocation. If it waited in the queue, it is withdrawn from
// there, and has to be completed. If it runs, abandon is called unless it comes
// back in time.
func (inv *invocation) stop(q *queue, cause error, abandon func()) (withdrawn bool) {
	inv.mu.Lock()
	if !inv.claimed {
		withdrawn = inv.state == api.Queued && q.withdraw(inv.waiter)
		// Cancelling again, or after its time, doesn't give a run more time.
		if inv.state == api.Running && context.Cause(inv.ctx) == nil && time.Since(inv.started) < inv.timeout {
			inv.overdue.Stop()
			inv.overdue = time.AfterFunc(overdueTime, abandon)
		}
	}
	inv.mu.Unlock()
	inv.cancel(cause)
	return withdrawn
}

// claim returns true to its first caller alone, who completes the invocation.
func (inv *invocation) claim() bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	first := !inv.claimed
	inv.claimed = true
	return first
}

// finish gives the invocation its result.
func (inv *invocation) finish(line []byte, failure *runtime.Error, abandoned bool) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.state, inv.line, inv.failure, inv.abandoned = api.Finished, line, failure, abandoned
	if inv.overdue != nil {
		inv.overdue.Stop()
	}
	// The event may be large, and many results are kept.
	inv.work, inv.event, inv.waiter, inv.overdue = nil, nil, nil, nil
	close(inv.done)
	inv.cancel(nil)
}
