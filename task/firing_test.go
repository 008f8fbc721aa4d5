package task

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// site is where several processes share a store, in fake time.
type site struct {
	t     *testing.T
	clock *clock.Dual
	store *memory.Store
	fault func(op string) outcome.Outcome // what becomes of a request of the host; Applied: nothing special
	// locked is called when a process has got the lock.
	locked func(*process)

	mu   sync.Mutex    // guards what follows, and fault
	late time.Duration // how long the first write that begins a run is on its way
	runs []string      // planned times that were run
}

func newSite(t *testing.T) *site {
	clk := clock.NewDual(clock.System())
	return &site{t: t, clock: clk, store: memory.New(clk), fault: func(string) outcome.Outcome { return outcome.Applied }}
}

// setFault makes all requests end alike from now on.
func (s *site) setFault(o outcome.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = func(string) outcome.Outcome { return o }
}

// process is what one process sees of the store: nothing, once it is dead.
type process struct {
	*site
	*memory.Store
	dead chan struct{}
}

// config is the configuration of another process.
func (s *site) config(engine Runner) (Config, *process) {
	p := &process{site: s, Store: s.store, dead: make(chan struct{})}
	locks, err := lock.New(s.clock, p, lock.MachineClock{}, lock.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return Config{Engine: engine, Tenants: tenantsNamed("a"), Clock: s.clock, Locks: locks, Store: p, Table: p}, p
}

// kill ends the process, as far as others can see.
func (p *process) kill() { close(p.dead) }

// reach says whether a request gets through.
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
	if parseProgress(w.Value).run != "" {
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

// start starts a process with a schedule.
func (s *site) start(engine Runner, one Schedule) (*served, *process) {
	s.t.Helper()
	one.Name, one.Tenant, one.Script = "tick", "a", "job"
	c, p := s.config(engine)
	c.Schedules = []Schedule{one}
	return serveHost(s.t, c), p
}

// record is an engine that notes which planned times it runs, and then works
// for d.
func (s *site) record(d time.Duration) fakeEngine {
	return func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
		s.mu.Lock()
		s.runs = append(s.runs, inv.Event.(value.Map)["planned_at"].(string)[11:])
		s.mu.Unlock()
		return works(d)(ctx, inv)
	}
}

// ran returns the planned times that were run, sorted.
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

// In fake time a bubble begins at midnight.
func TestEachPlannedTimeIsRunOnceByThreeProcesses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		for range 3 {
			s.start(s.record(10*time.Millisecond), Schedule{Cron: "@every 100ms", Overlap: OverlapQueue})
		}
		time.Sleep(10*time.Second + 50*time.Millisecond)
		s.wantRuns(times("00:00:00.100Z", 100*time.Millisecond, 100)...)
		synctest.Wait()
		s.wantNoLocks()
	})
}

func TestAPlannedTimeIsTakenOverFromAProcessThatDiesBeforeItHasBegun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		due := time.Now().Add(2 * time.Minute)
		var died sync.Once
		s.locked = func(p *process) { // whoever gets the lock for 00:02 dies with it, before it writes
			if !time.Now().Before(due) {
				died.Do(p.kill)
			}
		}
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "* * * * *", Missed: MissedSkip})
		}
		time.Sleep(150 * time.Second)
		s.wantRuns("00:01:00.000Z")
		time.Sleep(25 * time.Second) // 30 s limit, 5 s, guard: the lock has run out
		s.wantRuns("00:01:00.000Z", "00:02:00.000Z")
	})
}

// The write by which a run begins arrives so late that another process has
// taken over.
func TestALateWriteBeginsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		s.late = 50 * time.Second
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "* * * * *"})
		}
		time.Sleep(2*time.Minute - time.Second)
		s.wantRuns("00:01:00.000Z")
	})
}

func TestARunThatHasBegunIsNotRepeatedWhenItsProcessDies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		var first *process
		dies := fakeEngine(func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
			first.kill()
			return s.record(0)(ctx, inv)
		})
		_, first = s.start(dies, Schedule{Cron: "*/2 * * * *"})
		time.Sleep(time.Second)
		s.start(s.record(0), Schedule{Cron: "*/2 * * * *"})
		time.Sleep(4*time.Minute + time.Second)
		s.wantRuns("00:02:00.000Z", "00:04:00.000Z")
	})
}

func TestOverlappingTimesAreSkippedOrQueuedInAllProcesses(t *testing.T) {
	for overlap, want := range map[Overlap][]string{
		OverlapSkip:  {"00:01:00.000Z", "00:03:00.000Z", "00:05:00.000Z"},
		OverlapQueue: {"00:01:00.000Z", "00:02:00.000Z", "00:03:00.000Z", "00:04:00.000Z"},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				var dropped atomic.Int64
				for range 2 {
					c, _ := s.config(s.record(90 * time.Second))
					a := c.Tenants["a"]
					a.Limits.Timeout = 3 * time.Minute
					c.Tenants["a"] = a
					c.Events.Dropped = func(_ tenant.ID, _ string, n int) { dropped.Add(int64(n)) }
					c.Schedules = []Schedule{{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *", Overlap: overlap, Missed: MissedSkip}}
					serveHost(t, c)
				}
				time.Sleep(6*time.Minute - time.Second)
				s.wantRuns(want...)
				if got, want := dropped.Load(), map[Overlap]int64{OverlapSkip: 2}[overlap]; got != want {
					t.Errorf("got %d dropped, want %d", got, want)
				}
			})
		})
	}
}

func TestTimesThatNobodyWasThereForAreMadeUpForOnceOrNot(t *testing.T) {
	for missed, want := range map[Missed][]string{
		MissedOnce: {"01:00:00.000Z", "05:00:00.000Z", "06:00:00.000Z"},
		MissedSkip: {"01:00:00.000Z", "06:00:00.000Z"},
	} {
		t.Run(string(missed), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				one := Schedule{Cron: "0 * * * *", Missed: missed}
				first, _ := s.start(s.record(0), one)
				time.Sleep(90 * time.Minute)
				first.stop()
				time.Sleep(4 * time.Hour) // until 05:30
				s.start(s.record(0), one)
				time.Sleep(time.Hour)
				s.wantRuns(want...)
			})
		})
	}
}

func TestAScheduleThatIsPlannedAnewBeginsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		first, _ := s.start(s.record(0), Schedule{Cron: "0 1 * * *"})
		time.Sleep(5*time.Hour + 30*time.Minute)
		first.stop()
		<-first.ended
		s.start(s.record(0), Schedule{Cron: "0 4,6 * * *"})
		time.Sleep(time.Hour)
		s.wantRuns("01:00:00.000Z", "06:00:00.000Z")
	})
}

func TestLostAnswersAndATableThatIsAwayLoseNoPlannedTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		n := 0
		s.fault = func(op string) outcome.Outcome { // every third request
			s.mu.Lock()
			defer s.mu.Unlock()
			if n++; n%3 == 0 && op != "put lock" && op != "delete lock" {
				return outcome.Unknown
			}
			return outcome.Applied
		}
		for range 2 {
			s.start(s.record(0), Schedule{Cron: "@every 1s", Overlap: OverlapQueue})
		}
		time.Sleep(30*time.Second + 500*time.Millisecond)
		s.setFault(outcome.NotApplied)
		time.Sleep(20 * time.Second)
		s.setFault(outcome.Applied)
		time.Sleep(10*time.Second + 400*time.Millisecond)
		s.wantRuns(times("00:00:01.000Z", time.Second, 60)...)
	})
}

func TestASetClockDoesNotRepeatWhatHasBegun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		c, _ := s.config(s.record(0))
		c.Schedules = []Schedule{{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"}}
		h, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		one := h.schedules[0]
		// Another process, whose clock is ahead, has begun 00:05.
		if _, ok, err := one.write(t.Context(), progress{last: time.Now().Add(5 * time.Minute), run: "other"}, ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); one.keep(ctx) }()
		time.Sleep(6*time.Minute + time.Second)
		cancel()
		<-done
		s.wantRuns("00:06:00.000Z")
	})
}

func TestASignalLetsAScheduledRunFinishAndFreesItsLock(t *testing.T) {
	for _, test := range []struct {
		work time.Duration
		ends time.Duration // after the request to stop
	}{{20 * time.Second, 19 * time.Second}, {40 * time.Second, 25 * time.Second}} {
		inBubble(t, func(t *testing.T) {
			s := newSite(t)
			c, _ := s.config(s.record(test.work))
			a := c.Tenants["a"]
			a.Limits.Timeout = time.Minute
			c.Tenants["a"] = a
			c.Schedules = []Schedule{{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"}}
			h := serveHost(t, c)
			time.Sleep(61 * time.Second)
			from := time.Now()
			h.stop()
			if took := h.took(from); took < test.ends || took > test.ends+settles {
				t.Errorf("took %v, want %v", took, test.ends)
			}
			s.wantRuns("00:01:00.000Z")
			s.wantNoLocks()
		})
	}
}

func TestALockOfARunThatDoesNotComeBackIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		release := make(chan struct{})
		h, _ := s.start(stuck(release), Schedule{Cron: "* * * * *"})
		time.Sleep(60*time.Second + 41*time.Second)
		page := s.store.ListLocks(t.Context(), "a", "")
		if len(page.Rows) != 1 || page.Rows[0].Name != "native:schedule/tick" || page.Rows[0].By.Script != "job.lua" {
			t.Errorf("got %v, want the schedule's lock", page.Rows)
		}
		list := h.do("GET", "/v1/invocations", "")
		if entries, _ := list.field("invocations").([]any); len(entries) != 1 || entries[0].(map[string]any)["schedule"] != "tick" ||
			entries[0].(map[string]any)["abandoned"] != true {
			t.Errorf("got %s, want one of the schedule, abandoned", list.body)
		}
		close(release)
	})
}

func TestAScheduleWaitsForASlotAndGivesItUpWhenTheHostStops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		c, _ := s.config(works(10 * time.Second))
		c.Limits.Concurrency = 1
		c.Schedules = []Schedule{{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"}}
		h := serveHost(t, c)
		time.Sleep(59 * time.Second)
		id := h.begin("a", ``)
		time.Sleep(2 * time.Second) // the planned time waits for the slot
		from := time.Now()
		h.stop()
		if took := h.took(from); took < 8*time.Second || took > 8*time.Second+settles {
			t.Errorf("took %v, want the 8s that the run still takes", took)
		}
		if got := h.known[id].failure; got != nil {
			t.Errorf("got %v, want none", got)
		}
		s.wantNoLocks()
	})
}
