package task

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/task/schedule"
)

// Host runs the scripts of many tenants in one process, on behalf of its API and
// its schedules.
type Host struct {
	config    Config
	api       *api.API
	scheduler *schedule.Scheduler
	registry  *registry
	queue     *queue
	executor  executor

	reloading sync.Mutex  // held by Reload
	stopping  atomic.Bool // whether the host has been told to stop

	runs           context.Context // ends when runs are cancelled because the host stops
	cancelRuns     context.CancelFunc
	forceStop      chan struct{} // closed by ForceStop
	closeForceStop func()
}

var (
	_ api.Host      = (*Host)(nil)
	_ schedule.Host = (*Host)(nil)
)

// New makes a host. The error says what is wrong with the configuration.
func New(c Config) (*Host, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{config: c, registry: newRegistry(), queue: newQueue(c.Limits), forceStop: make(chan struct{})}
	h.executor = executor{
		engine: c.Engine, log: c.Log, events: c.Events,
		registry: h.registry, retention: newRetention(c.Retention, h.registry.forget),
	}
	h.closeForceStop = sync.OnceFunc(func() { close(h.forceStop) })
	h.runs, h.cancelRuns = context.WithCancel(context.Background())
	h.api, err = api.New(api.Config{
		Host: h, Tenants: c.Tenants, Tokens: c.Tokens, BytesInFlight: c.Limits.QueueBytes, Locks: c.Table,
		Log: c.Log, Audit: c.Audit, Context: c.Context, Metrics: c.Metrics,
		Refused: c.Events.Refused, Unauthorized: c.Events.Unauthorized, Reload: c.Reload,
	})
	if err != nil {
		return nil, err
	}
	h.scheduler, err = schedule.New(schedule.Config{
		Host: h, Schedules: c.Schedules, Tenants: c.Tenants, Clock: c.Clock, Locks: c.Locks, Store: c.Store, Table: c.Table,
		HostName: c.HostName, Process: c.Process, Log: c.Log, Dropped: c.Events.Dropped,
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Handler answers the requests of tenants and operators.
func (h *Host) Handler() http.Handler { return h.api.Handler() }

// InternalHandler answers the platform: /healthz, /readyz and /metrics.
func (h *Host) InternalHandler() http.Handler { return h.api.InternalHandler() }

// minDelivery is the least time that late responses have to be sent, however
// short the time to stop is.
const minDelivery = 100 * time.Millisecond

// Serve answers the requests of tenants on l and those of the platform on
// internal, and keeps schedules, until ctx ends. Then it stops as the package
// comment says. It takes both listeners over. internal may be nil. It is an
// error if there are no tokens and others than this machine can reach l.
func (h *Host) Serve(ctx context.Context, l, internal net.Listener) error {
	servers, err := h.api.Serve(l, internal)
	if err != nil {
		return err
	}
	schedules, stopSchedules := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSchedules()
	h.scheduler.Start(schedules)
	select {
	case <-ctx.Done():
	case err = <-servers.Failed():
	}
	h.stopping.Store(true)
	if err == nil {
		err = h.lameDuck(servers)
	}
	h.refuse()
	stopSchedules()
	h.drain()
	servers.Stop(max(h.config.StopReserve/10, minDelivery)) // half of what is left of the reserve
	return err
}

// ForceStop cancels what runs, as if the time to stop were over, once the context
// of Serve has ended.
func (h *Host) ForceStop() { h.closeForceStop() }

// lameDuck goes on serving for a while after the request to stop: load balancers
// may notice late that the host isn't ready any more.
func (h *Host) lameDuck(servers *api.Servers) error {
	if h.config.LameDuck == 0 {
		return nil
	}
	timer := time.NewTimer(h.config.LameDuck)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.forceStop:
	case err := <-servers.Failed():
		return err
	}
	return nil
}

// Ready reports whether the host should be sent invocations.
func (h *Host) Ready() bool { return len(h.Problems()) == 0 }

// Problems returns the reasons why the host isn't ready, none if it is.
func (h *Host) Problems() []api.Problem {
	if h.stopping.Load() || h.registry.isClosed() {
		return []api.Problem{{Check: "stopping", Reason: "the host stops"}}
	}
	return h.config.Problems()
}

// Settings are what a host can change while it runs.
type Settings struct {
	Tenants   runtime.Directory
	Tokens    []api.Token
	Schedules []schedule.Schedule
	Limits    Limits
}

// Reload replaces the settings, all of them or none: the error lists what is wrong
// with the new ones. Accepted invocations keep the settings with which they were
// accepted, and runs of schedules that have begun are finished.
func (h *Host) Reload(s Settings) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	limits, err := s.Limits.withDefaults()
	if err != nil {
		return err
	}
	setAccess, err := h.api.Reload(s.Tenants, s.Tokens)
	if err != nil {
		return err
	}
	if len(s.Schedules) > 0 {
		if err := h.config.canSchedule(); err != nil {
			return err
		}
	}
	setSchedules, err := h.scheduler.Reload(s.Schedules, s.Tenants)
	if err != nil {
		return err
	}
	setAccess()
	setSchedules()
	h.queue.setLimits(limits)
	return nil
}

// RunningFor reports whether some script has been running for d or longer.
func (h *Host) RunningFor(d time.Duration) bool {
	for _, inv := range h.registry.all() {
		if inv.runningFor(d) {
			return true
		}
	}
	return false
}

// Start accepts an invocation, or returns the one that a request with the same
// key has started. It runs when it has a slot, and is answered by its
// [api.Invocation.Done]. It is an error if the tenant's queue is full, the host
// stops, or the key was used for another event.
func (h *Host) Start(ctx context.Context, r api.Request) (api.Invocation, *runtime.Error) {
	r.Work.Log = h.config.RunLog(r.Work)
	inv := newInvocation(ctx, r)
	admitted, failed := h.registry.admit(inv, func() *runtime.Error { return h.enqueue(inv) })
	if admitted != inv {
		inv.cancel(nil)
	}
	if failed != nil {
		return nil, failed
	}
	return admitted, nil
}

// enqueue lets an invocation wait for its slot, in which it is run.
func (h *Host) enqueue(inv *invocation) *runtime.Error {
	return inv.enqueue(h.queue, func(w *waiter) {
		defer h.queue.leave(w)
		h.executor.run(inv)
	}, func() {
		inv.cancel(runtime.Shutdown{})
		h.executor.fail(inv, runner.Shutdown())
	})
}

// Find returns the invocation with an id, false if there is none or its result
// is not kept any more.
func (h *Host) Find(id string) (api.Invocation, bool) {
	if inv := h.registry.find(id); inv != nil {
		return inv, true
	}
	return nil, false
}

// Invocations returns all invocations, in no order.
func (h *Host) Invocations() []api.Invocation {
	all := h.registry.all()
	list := make([]api.Invocation, len(all))
	for i, inv := range all {
		list[i] = inv
	}
	return list
}

// Cancel ends an invocation, if it isn't over. One that waits is over when
// Cancel returns, one that runs is over soon.
func (h *Host) Cancel(id string, cause error) {
	if inv := h.registry.find(id); inv != nil {
		h.cancel(inv, cause)
	}
}

func (h *Host) cancel(inv *invocation, cause error) {
	e := runner.Cancelled(cause)
	if inv.stop(h.queue, cause, func() { h.executor.abandon(inv, e) }) {
		h.executor.fail(inv, e)
	}
}

// refuse accepts nothing more, and completes what waits.
func (h *Host) refuse() {
	h.registry.close()
	h.queue.close()
}

// drain waits until nothing runs any more. Runs are cancelled when only the
// reserve is left of the time to stop, and given up when four fifths of that are
// over.
func (h *Host) drain() {
	defer h.cancelRuns()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		h.registry.inFlight.Wait()
		h.scheduler.Wait()
	}()
	stop := runner.StopTimes{Timeout: h.config.StopTimeout, Reserve: h.config.StopReserve}
	cancelAt := time.NewTimer(stop.Timeout - stop.Reserve - h.config.LameDuck)
	defer cancelAt.Stop()
	select {
	case <-idle:
		return
	case <-cancelAt.C:
	case <-h.forceStop:
	}
	h.cancelRuns()
	for _, inv := range h.unfinished() {
		h.cancel(inv, runtime.Shutdown{})
	}
	giveUpAt := time.NewTimer(stop.GiveUp())
	defer giveUpAt.Stop()
	select {
	case <-idle:
		return
	case <-giveUpAt.C:
	}
	for _, inv := range h.unfinished() {
		h.executor.abandon(inv, runner.Shutdown())
	}
}

// unfinished returns the invocations without a result.
func (h *Host) unfinished() (list []*invocation) {
	for _, inv := range h.registry.all() {
		if !inv.isFinished() {
			list = append(list, inv)
		}
	}
	return list
}
