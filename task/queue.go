package task

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Limits say how many scripts run at once and how many invocations wait. The
// zero value of each field stands for the default that its comment names.
type Limits struct {
	// Concurrency is how many scripts run at once in this process. Default 256.
	Concurrency int
	// TenantConcurrency is how many of them may be one tenant's. Default a
	// quarter of Concurrency, so that no tenant has all slots.
	TenantConcurrency int
	// ScriptConcurrency is how many may be of one script of a tenant. Default
	// TenantConcurrency.
	ScriptConcurrency int
	// QueueLength is how many invocations of a tenant may wait. Default 1000.
	QueueLength int
	// QueueBytes is how many bytes the events of a tenant that wait may have
	// together. Default 32 MiB.
	QueueBytes int64
	// Tenants are those to whom other limits apply.
	Tenants map[tenant.ID]TenantLimits
}

// TenantLimits are what one tenant has instead of what all have. The zero value
// of a field stands for what all have.
type TenantLimits struct {
	// Concurrency, ScriptConcurrency and QueueLength are instead of
	// TenantConcurrency, ScriptConcurrency and QueueLength of [Limits].
	// ScriptConcurrency is Concurrency at most, unless it is set.
	Concurrency, ScriptConcurrency, QueueLength int
}

func (l Limits) withDefaults() (Limits, error) {
	if l.Concurrency < 0 || l.TenantConcurrency < 0 || l.ScriptConcurrency < 0 || l.QueueLength < 0 || l.QueueBytes < 0 {
		return l, fmt.Errorf("limits %+v: want no number below 0", l)
	}
	setDefault(&l.Concurrency, 256)
	setDefault(&l.TenantConcurrency, max(l.Concurrency/4, 1))
	setDefault(&l.ScriptConcurrency, l.TenantConcurrency)
	setDefault(&l.QueueLength, 1000)
	setDefault(&l.QueueBytes, 32<<20)
	for id, own := range l.Tenants {
		if own.Concurrency < 0 || own.ScriptConcurrency < 0 || own.QueueLength < 0 {
			return l, fmt.Errorf("limits of tenant %s %+v: want no number below 0", id, own)
		}
	}
	return l, nil
}

// of are the limits that apply to a tenant.
func (l Limits) of(id tenant.ID) TenantLimits {
	own := l.Tenants[id]
	setDefault(&own.Concurrency, l.TenantConcurrency)
	setDefault(&own.ScriptConcurrency, min(l.ScriptConcurrency, own.Concurrency))
	setDefault(&own.QueueLength, l.QueueLength)
	return own
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// queue hands out the slots in which scripts run. What finds none waits in the
// line of its tenant, and tenants take turns.
type queue struct {
	limits Limits

	mu      sync.Mutex // guards what follows
	closed  bool
	running int
	lines   map[tenant.ID]*tenantLine
	turns   []*tenantLine // those in which somebody waits; the first has the next turn
}

// tenantLine is what the queue knows of a tenant that has something in it.
type tenantLine struct {
	tenant  tenant.ID
	limits  TenantLimits
	running int
	scripts map[string]int // running, by script
	waiting []*ticket      // who came first in front
	bytes   int64          // of the events of those that wait
}

// ticket is a place in the queue, and then a slot.
type ticket struct {
	tenant tenant.ID
	script string
	bytes  int64
	// start is called in a goroutine of its own once the ticket has its slot,
	// which it has until leave.
	start func()
	// waits says, after enter, that there was no slot yet.
	waits bool
	// refused, if it is set, is called when the ticket waits and the queue is
	// closed. Such a ticket is the host's own and may wait whatever waits
	// already.
	refused func()
}

func newQueue(l Limits) *queue { return &queue{limits: l, lines: map[tenant.ID]*tenantLine{}} }

// enter starts the ticket, or lets it wait. The error is [runtime.HostShutdown]
// or [runtime.TenantThrottled].
func (q *queue) enter(t *ticket) *runtime.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return shutdown()
	}
	l := q.lines[t.tenant]
	if l == nil {
		l = &tenantLine{tenant: t.tenant, limits: q.limits.of(t.tenant), scripts: map[string]int{}}
		q.lines[t.tenant] = l
	}
	if q.running < q.limits.Concurrency && l.may(t) {
		q.give(l, t)
		return nil
	}
	if t.refused == nil && (len(l.waiting) >= l.limits.QueueLength || l.bytes+t.bytes > q.limits.QueueBytes) {
		q.forget(l)
		return runtime.Errorf(runtime.TenantThrottled,
			"%d invocations of the tenant run and %d wait: try again later", l.running, len(l.waiting))
	}
	if len(l.waiting) == 0 {
		q.turns = append(q.turns, l)
	}
	t.waits = true
	l.waiting = append(l.waiting, t)
	l.bytes += t.bytes
	return nil
}

// may says whether the tenant may have another run, of the ticket's script.
func (l *tenantLine) may(t *ticket) bool {
	return l.running < l.limits.Concurrency && l.scripts[t.script] < l.limits.ScriptConcurrency
}

// give gives the ticket a slot.
func (q *queue) give(l *tenantLine, t *ticket) {
	q.running++
	l.running++
	l.scripts[t.script]++
	go t.start()
}

// leave gives the ticket's slot back, to whoever has the next turn.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[t.tenant]
	q.running--
	l.running--
	if l.scripts[t.script]--; l.scripts[t.script] == 0 {
		delete(l.scripts, t.script)
	}
	q.forget(l)
	q.serve()
}

// serve gives free slots to those who wait. A tenant that was served goes
// behind the others.
func (q *queue) serve() {
	for q.running < q.limits.Concurrency && q.serveOne() {
	}
}

func (q *queue) serveOne() bool {
	for i, l := range q.turns {
		if l.running >= l.limits.Concurrency {
			continue
		}
		at := slices.IndexFunc(l.waiting, l.may)
		if at < 0 {
			continue
		}
		t := l.waiting[at]
		q.turns = slices.Delete(q.turns, i, i+1)
		l.remove(at)
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, l)
		}
		q.give(l, t)
		return true
	}
	return false
}

func (l *tenantLine) remove(at int) {
	l.bytes -= l.waiting[at].bytes
	l.waiting = slices.Delete(l.waiting, at, at+1)
}

// withdraw takes a ticket out that still waits. It returns false if it
// doesn't.
func (q *queue) withdraw(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[t.tenant]
	if l == nil {
		return false
	}
	at := slices.Index(l.waiting, t)
	if at < 0 {
		return false
	}
	l.remove(at)
	if len(l.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(other *tenantLine) bool { return other == l })
	}
	q.forget(l)
	return true
}

// forget drops a line in which nothing is left.
func (q *queue) forget(l *tenantLine) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.lines, l.tenant)
	}
}

// close refuses whatever comes from now on, and returns what has waited.
func (q *queue) close() []*ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	var waited []*ticket
	for _, l := range q.turns {
		waited = append(waited, l.waiting...)
		l.waiting, l.bytes = nil, 0
		q.forget(l)
	}
	q.turns = nil
	return waited
}

// shutdown is the error of what a host that stops doesn't do any more.
func shutdown() *runtime.Error {
	return runtime.Errorf(runtime.HostShutdown, "%s", runtime.Shutdown{}.Error())
}
