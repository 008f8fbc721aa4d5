package task

import (
	"context"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/task/schedule"
	"github.com/tidelock-lua/tidelock/tenant"
)

// slot is a slot of the queue for a run of a schedule. Other than a request, it
// has its slot before it is an invocation.
type slot struct {
	host     *Host
	waiter   *waiter
	reserved bool
}

// Slot implements [schedule.Host].
func (h *Host) Slot(ctx context.Context, id tenant.ID, script string) (schedule.Slot, bool) {
	started, refused := make(chan struct{}), make(chan struct{})
	w := &waiter{
		tenant: id, script: script, unbounded: true,
		start: func() { close(started) }, refused: func() { close(refused) },
	}
	if _, failed := h.queue.enter(w); failed != nil {
		return nil, false
	}
	s := &slot{host: h, waiter: w}
	select {
	case <-started:
		return s, true
	case <-refused:
		return nil, false
	case <-ctx.Done():
		if h.queue.withdraw(w) {
			return nil, false
		}
		select { // one of both has just happened
		case <-started:
			return s, true
		case <-refused:
			return nil, false
		}
	}
}

// Reserve implements [schedule.Slot].
func (s *slot) Reserve() (context.Context, bool) {
	s.reserved = s.host.registry.reserve()
	return s.host.runs, s.reserved
}

// Run implements [schedule.Slot].
func (s *slot) Run(name string, work *runtime.Invocation, failed *runtime.Error) (returned bool) {
	s.reserved = false // completing the invocation ends it
	x := &s.host.executor
	work.Log = s.host.config.RunLog(work)
	inv := newInvocation(context.Background(), api.Request{Work: work})
	inv.schedule = name
	run, _ := inv.begin(func(e *runtime.Error) { x.abandon(inv, e) })
	s.host.registry.add(inv)
	go func() {
		defer s.host.queue.leave(s.waiter)
		switch {
		case failed != nil:
			x.fail(inv, failed)
		case s.host.runs.Err() != nil: // since before it could be cancelled
			x.fail(inv, runner.Shutdown())
		default:
			x.execute(inv, run)
		}
	}()
	<-inv.done
	return !inv.isAbandoned()
}

// Release implements [schedule.Slot].
func (s *slot) Release() {
	if s.reserved {
		s.host.registry.inFlight.Done()
	}
	s.host.queue.leave(s.waiter)
}
