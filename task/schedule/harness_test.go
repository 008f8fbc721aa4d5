package schedule

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// site is several processes that share a store, in fake time.
type site struct {
	t     *testing.T
	clock *clock.Dual
	store *memory.Store
	// fault is how a request of the given kind fails; Applied if it doesn't.
	fault func(op string) outcome.Outcome
	// locked is called when a process has got the lock.
	locked func(*process)

	mu   sync.Mutex    // guards what follows, and fault
	late time.Duration // how long the first write that begins a run is on its way
	runs []string      // due times that were run
}

func newSite(t *testing.T) *site {
	clk := clock.NewDual(clock.System())
	return &site{t: t, clock: clk, store: memory.New(clk), fault: func(string) outcome.Outcome { return outcome.Applied }}
}

// setFault makes all requests fail alike from now on.
func (s *site) setFault(o outcome.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = func(string) outcome.Outcome { return o }
}

// process is the store as one process sees it: not at all, once it is dead.
type process struct {
	*site
	*memory.Store
	dead chan struct{}
}

// config is the configuration of another process.
func (s *site) config(engine runnertest.Engine, schedules ...Schedule) (Config, *process) {
	p := &process{site: s, Store: s.store, dead: make(chan struct{})}
	locks, err := lock.New(s.clock, p, lock.MachineClock{}, lock.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return Config{
		Host: host{engine}, Tenants: runnertest.Tenants("a"), Clock: s.clock, Locks: locks, Store: p, Table: p,
		Schedules: schedules, Log: zap.NewNop(),
	}, p
}

// host runs whatever is due, and has a slot for it.
type host struct{ engine runnertest.Engine }

func (h host) Slot(context.Context, tenant.ID, string) (Slot, bool) { return h, true }
func (h host) Reserve() (context.Context, bool)                     { return context.Background(), true }
func (h host) Release()                                             {}
func (h host) Run(_ string, work *runtime.Invocation, _ *runtime.Error) bool {
	h.engine.Run(context.Background(), *work)
	return true
}

// die ends the process, as far as others can see.
func (p *process) die() { close(p.dead) }

// reach reports whether a request gets through.
func (p *process) reach(ctx context.Context, op string) (outcome.Attempt, bool) {
	select {
	case <-p.dead:
		<-ctx.Done()
		return outcome.Attempt{Outcome: outcome.Unknown, Err: ctx.Err()}, false
	default:
	}
	p.site.mu.Lock()
	fault := p.fault
	p.site.mu.Unlock()
	if o := fault(op); o != outcome.Applied {
		return outcome.Attempt{Outcome: o, Err: fmt.Errorf("%s: no answer", op)}, o == outcome.Unknown
	}
	return outcome.Attempt{}, true
}

func (p *process) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	if a, ok := p.reach(ctx, "get"); !ok {
		return db.RowResult{Attempt: a}
	}
	return p.Store.Get(ctx, key, stale)
}

func (p *process) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	a, ok := p.reach(ctx, "write")
	if !ok {
		return db.RowResult{Attempt: a}
	}
	if parseCursor(w.Value).run != "" {
		p.site.mu.Lock()
		late := p.late
		p.late = 0
		p.site.mu.Unlock()
		if late > 0 {
			time.Sleep(late)
			ctx = context.WithoutCancel(ctx) // it is on its way
		}
	}
	done := p.Store.Write(ctx, w, now)
	if a.Outcome != outcome.Unknown || a.Err == nil {
		return done
	}
	return db.RowResult{Attempt: a} // applied, but the answer is lost
}

func (p *process) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	if a, ok := p.reach(ctx, "put lock"); !ok {
		return lock.RowResult{Attempt: a}
	}
	a := p.Store.PutLock(ctx, row, now)
	if a.Outcome == outcome.Applied && p.locked != nil {
		p.locked(p)
	}
	return a
}

func (p *process) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	if a, ok := p.reach(ctx, "delete lock"); !ok {
		return lock.RowResult{Attempt: a}
	}
	return p.Store.DeleteLock(ctx, key, owner)
}

// start starts a process with a schedule. stop stops it.
func (s *site) start(engine runnertest.Engine, one Schedule) (p *process, stop func()) {
	s.t.Helper()
	one.Name, one.Tenant, one.Script = "tick", "a", "job"
	c, p := s.config(engine, one)
	return p, s.run(c)
}

// run runs a scheduler until stop, or the end of the test.
func (s *site) run(c Config) (stop func()) {
	s.t.Helper()
	scheduler, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	scheduler.Start(ctx)
	stop = func() { cancel(); scheduler.Wait() }
	s.t.Cleanup(stop)
	return stop
}

// onlyLoop returns the loop of a scheduler's only schedule.
func onlyLoop(t *testing.T, s *Scheduler) *loop {
	t.Helper()
	for _, l := range s.loops {
		return l
	}
	t.Fatal("there is no schedule")
	return nil
}

// record is an engine that notes which due times it runs, and then works for d.
func (s *site) record(d time.Duration) runnertest.Engine {
	return func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
		s.mu.Lock()
		s.runs = append(s.runs, inv.Event.(value.Map)["planned_at"].(string)[11:])
		s.mu.Unlock()
		return runnertest.Work(d)(ctx, inv)
	}
}

// ran returns the due times that were run, sorted.
func (s *site) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.runs))
}

// times are n times of day from first on, step apart.
func times(first string, step time.Duration, n int) (out []string) {
	at, err := time.Parse("15:04:05.000Z", first)
	if err != nil {
		panic(err)
	}
	for range n {
		out = append(out, at.Format("15:04:05.000Z"))
		at = at.Add(step)
	}
	return out
}

func (s *site) wantRuns(want ...string) {
	s.t.Helper()
	if got := s.ran(); !slices.Equal(got, want) {
		s.t.Errorf("got %d runs %v, want %d %v", len(got), got, len(want), want)
	}
}

func (s *site) wantNoLocks() {
	s.t.Helper()
	if page := s.store.ListLocks(context.Background(), "a", ""); len(page.Rows) > 0 {
		s.t.Errorf("got locks %v, want none", page.Rows)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
