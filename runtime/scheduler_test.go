package runtime

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

// forever is longer than any test waits.
const forever = time.Hour

func TestSchedulerTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		first := s.newSlot("busy")
		first.Yield(nil, forever)
		var order []string
		var runs sync.WaitGroup
		for _, r := range []struct {
			name   string
			tenant tenant.ID
		}{{"busy 1", "busy"}, {"busy 2", "busy"}, {"busy 3", "busy"}, {"quiet", "quiet"}, {"other 1", "other"}, {"other 2", "other"}} {
			runs.Go(func() {
				own := s.newSlot(r.tenant)
				own.Yield(nil, forever)
				order = append(order, r.name)
				own.Release()
			})
			synctest.Wait() // it is in the queue
		}
		first.Release()
		runs.Wait()
		want := []string{"busy 1", "quiet", "other 1", "busy 2", "other 2", "busy 3"}
		if !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
	})
}

func TestSchedulerQuietTenantWaitsForOneTimeSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		done := make(chan struct{})
		var granted int // to busy runs; only a run that holds its slot uses it
		var runs sync.WaitGroup
		for range 32 {
			runs.Go(func() {
				own := s.newSlot("busy")
				for own.Yield(done, forever) {
					select {
					case <-done:
						own.Release()
						return
					default:
						granted++
					}
				}
			})
		}
		quiet := s.newSlot("quiet")
		quiet.Yield(nil, forever)
		for range 100 {
			before := granted
			quiet.Yield(nil, forever)
			if waited := granted - before; waited > 1 {
				t.Errorf("waited for %d time slices of the busy tenant, want at most 1", waited)
			}
		}
		quiet.Release()
		close(done)
		runs.Wait()
	})
}

func TestSlotYieldEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		s.newSlot("a").Yield(nil, forever)
		began := time.Now()
		if s.newSlot("a").Yield(nil, 5*time.Millisecond) || time.Since(began) != 5*time.Millisecond {
			t.Errorf("after %v: got the slot, want the end after 5ms", time.Since(began))
		}
		done := make(chan struct{})
		close(done)
		if s.newSlot("b").Yield(done, forever) {
			t.Error("a cancelled run got the slot")
		}
		if n := s.waiting.Load(); n != 0 || s.queue.Len() != 0 {
			t.Errorf("got %d waiting and %d in the queue, want none", n, s.queue.Len())
		}
	})
}

func TestSchedulerPreemptsAStuckRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		stuck, next := s.newSlot("a"), s.newSlot("b")
		stuck.Yield(nil, forever)
		began := time.Now()
		if !next.Yield(nil, forever) || time.Since(began) > 2*stuckAfter {
			t.Errorf("got no slot after %v", time.Since(began))
		}
		again := make(chan bool)
		go func() { again <- stuck.Yield(nil, time.Millisecond) }()
		if <-again {
			t.Error("two runs hold a slot, want one")
		}
		next.Release()
		if !stuck.Yield(nil, forever) {
			t.Error("a run that was preempted doesn't get its slot again")
		}
	})
}

// oneProcessorEngine has native.sleep and one slot at a time.
func oneProcessorEngine() *Engine {
	e := New(Config{Modules: []native.Module{coremodule.New()}})
	e.scheduler = newScheduler(1)
	return e
}

type discard struct{}

func (discard) Log(string, string, value.Map) {}

func TestSlotIsReleasedInANativeCallThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := oneProcessorEngine()
		began := time.Now()
		var runs sync.WaitGroup
		for range 10 {
			runs.Go(func() {
				r := e.Run(t.Context(), Invocation{Tenant: "a", Script: "sleep.lua", Source: `native.sleep(1000) return 1`, Log: discard{}})
				if string(r.JSON) != "1" {
					t.Errorf("got %s %v", r.JSON, r.Error)
				}
			})
		}
		runs.Wait()
		// Not even a preemption was needed.
		if took := time.Since(began); took >= time.Second+stuckAfter {
			t.Errorf("ten runs that sleep for 1s took %v", took)
		}
		if e.scheduler.free != 1 || len(e.scheduler.held) != 0 {
			t.Errorf("got %d free slots and %d held, want 1 and none", e.scheduler.free, len(e.scheduler.held))
		}
	})
}

func TestSlotIsReleasedHoweverARunEnds(t *testing.T) {
	e := oneProcessorEngine()
	var runs sync.WaitGroup
	for _, source := range []string{
		`while true do end`, `error("x")`, `return pcall(function() while true do end end)`, `native.sleep(1e6)`,
		`local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end`, `return 1`, `(`,
	} {
		for _, id := range []tenant.ID{"a", "b"} {
			runs.Go(func() {
				e.Run(t.Context(), Invocation{Tenant: id, Script: "x.lua", Source: source, Log: discard{}, Limits: tenant.Limits{Timeout: 50 * time.Millisecond}})
			})
		}
	}
	runs.Wait()
	if e.scheduler.free != 1 || len(e.scheduler.held) != 0 || e.scheduler.queue.Len() != 0 {
		t.Errorf("got %d free slots, %d held and %d that wait, want 1 and none", e.scheduler.free, len(e.scheduler.held), e.scheduler.queue.Len())
	}
}

func TestSchedulerPreemptsNoRunThatHasNotResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		own := s.newSlot("acme")
		s.mu.Lock()
		s.enqueue(own)
		s.dispatch()
		s.mu.Unlock()
		time.Sleep(time.Second) // the process is stopped
		s.preemptStuck()
		if !own.isHeld.Load() {
			t.Fatal("the run was preempted before it received its slot")
		}
		<-own.granted
		if s.preemptStuck(); own.isHeld.Load() {
			t.Error("a stuck run keeps its slot")
		}
		if !own.Yield(nil, time.Second) {
			t.Error("a free slot isn't granted")
		}
	})
}
