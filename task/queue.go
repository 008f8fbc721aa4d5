package task

import (
	"sync"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/fair"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/tenant"
)

// queue hands out the slots in which scripts run. Whoever finds none free waits
// in a [fair.Queue].
type queue struct {
	mu      sync.Mutex // guards what follows
	limits  Limits
	closed  bool
	running int
	tenants map[tenant.ID]*tenantUsage // those that run or wait
	waiting fair.Queue[*waiter]
}

// tenantUsage is how much of its limits a tenant uses.
type tenantUsage struct {
	limits  TenantLimits
	running int
	scripts map[string]int // running, by script
	bytes   int64          // of the events that wait
}

// waiter waits for a slot, and then has it until leave.
type waiter struct {
	tenant tenant.ID
	script string
	bytes  int64 // of its event
	// start is called in a goroutine of its own once the waiter has its slot.
	start func()
	// refused is called if the queue is closed while it waits.
	refused func()
	// unbounded lets it wait however many wait already: it is the host's own.
	unbounded bool
}

func newQueue(l Limits) *queue { return &queue{limits: l, tenants: map[tenant.ID]*tenantUsage{}} }

// enter starts w, or lets it wait: then queued is true. The error is
// [runtime.HostShutdown] or [runtime.TenantThrottled].
func (q *queue) enter(w *waiter) (queued bool, failed *runtime.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, runner.Shutdown()
	}
	usage := q.usage(w.tenant)
	if q.running < q.limits.Concurrency && usage.mayRun() && usage.mayRunScript(w.script) {
		q.start(w)
		return false, nil
	}
	waiting := q.waiting.TenantLen(w.tenant)
	if !w.unbounded && (waiting >= usage.limits.QueueLength || usage.bytes+w.bytes > q.limits.QueueBytes) {
		q.forget(w.tenant)
		return false, runtime.Errorf(runtime.TenantThrottled,
			"%d invocations of the tenant run and %d wait: try again later", usage.running, waiting)
	}
	q.waiting.Push(w.tenant, w)
	usage.bytes += w.bytes
	return true, nil
}

// leave gives the slot of w back, to the next that may have it.
func (q *queue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	usage := q.usage(w.tenant)
	q.running--
	usage.running--
	if usage.scripts[w.script]--; usage.scripts[w.script] == 0 {
		delete(usage.scripts, w.script)
	}
	q.forget(w.tenant)
	for q.running < q.limits.Concurrency && q.startNext() {
	}
}

// startNext starts the next waiter that may run. It returns false if there is
// none.
func (q *queue) startNext() bool {
	w, ok := q.waiting.PopFunc(
		func(id tenant.ID) bool { return q.usage(id).mayRun() },
		func(w *waiter) bool { return q.usage(w.tenant).mayRunScript(w.script) })
	if ok {
		q.usage(w.tenant).bytes -= w.bytes
		q.start(w)
	}
	return ok
}

// start gives w a slot.
func (q *queue) start(w *waiter) {
	usage := q.usage(w.tenant)
	q.running++
	usage.running++
	usage.scripts[w.script]++
	go w.start()
}

// withdraw takes w out of the queue. It returns false if it doesn't wait.
func (q *queue) withdraw(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.waiting.Remove(w.tenant, w) {
		return false
	}
	q.usage(w.tenant).bytes -= w.bytes
	q.forget(w.tenant)
	return true
}

// close refuses what waits and what comes from now on.
func (q *queue) close() {
	for _, w := range q.empty() {
		w.refused()
	}
}

// empty marks the queue as closed and takes all waiters out.
func (q *queue) empty() (waiters []*waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.waiting.All() {
		waiters = append(waiters, w)
	}
	q.waiting = fair.Queue[*waiter]{}
	for _, w := range waiters {
		q.usage(w.tenant).bytes = 0
		q.forget(w.tenant)
	}
	return waiters
}

// usage returns how much a tenant uses.
func (q *queue) usage(id tenant.ID) *tenantUsage {
	usage := q.tenants[id]
	if usage == nil {
		usage = &tenantUsage{limits: q.limits.of(id), scripts: map[string]int{}}
		q.tenants[id] = usage
	}
	return usage
}

// setLimits sets other limits, which count for what starts and waits from now
// on.
func (q *queue) setLimits(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	for id, usage := range q.tenants {
		usage.limits = l.of(id)
	}
	for q.running < q.limits.Concurrency && q.startNext() {
	}
}

// forget drops a tenant of which nothing runs or waits.
func (q *queue) forget(id tenant.ID) {
	if usage := q.tenants[id]; usage != nil && usage.running == 0 && q.waiting.TenantLen(id) == 0 {
		delete(q.tenants, id)
	}
}

func (u *tenantUsage) mayRun() bool { return u.running < u.limits.Concurrency }

func (u *tenantUsage) mayRunScript(script string) bool {
	return u.scripts[script] < u.limits.ScriptConcurrency
}
