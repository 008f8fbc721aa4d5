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

// ever is longer than any test waits.
const ever = time.Hour

func TestTenantsTakeTurnsAndSoDoTheRunsOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(1)
		first := a.seat("busy")
		first.Yield(nil, ever)
		var order []string
		var runs sync.WaitGroup
		for _, r := range []struct {
			name   string
			tenant tenant.ID
		}{{"busy 1", "busy"}, {"busy 2", "busy"}, {"busy 3", "busy"}, {"quiet", "quiet"}, {"other 1", "other"}, {"other 2", "other"}} {
			runs.Go(func() {
				s := a.seat(r.tenant)
				s.Yield(nil, ever)
				order = append(order, r.name)
				s.Release()
			})
			synctest.Wait() // it is in line
		}
		first.Release()
		runs.Wait()
		want := []string{"busy 1", "quiet", "other 1", "busy 2", "other 2", "busy 3"}
		if !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
	})
}

func TestAQuietTenantWaitsForOneTurnOfABusyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(1)
		done := make(chan struct{})
		var turns int // of all busy runs; whoever has the slot may touch it
		var runs sync.WaitGroup
		for range 32 {
			runs.Go(func() {
				s := a.seat("busy")
				for s.Yield(done, ever) {
					select {
					case <-done:
						s.Release()
						return
					default:
						turns++
					}
				}
			})
		}
		quiet := a.seat("quiet")
		quiet.Yield(nil, ever)
		for range 100 {
			before := turns
			quiet.Yield(nil, ever)
			if waited := turns - before; waited > 1 {
				t.Errorf("waited for %d turns of the busy tenant, want at most 1", waited)
			}
		}
		quiet.Release()
		close(done)
		runs.Wait()
	})
}

func TestAWaitForASlotEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(1)
		a.seat("a").Yield(nil, ever)
		began := time.Now()
		if s := a.seat("a"); s.Yield(nil, 5*time.Millisecond) || time.Since(began) != 5*time.Millisecond {
			t.Errorf("after %v: got the slot, want the end after 5ms", time.Since(began))
		}
		done := make(chan struct{})
		close(done)
		if s := a.seat("b"); s.Yield(done, ever) {
			t.Error("a cancelled run got the slot")
		}
		if n := a.waiting.Load(); n != 0 || len(a.lines) != 0 {
			t.Errorf("%d seats and %d lines are left", n, len(a.lines))
		}
	})
}

func TestASlotThatNothingIsDoneWithGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(1)
		stuck, next := a.seat("a"), a.seat("b")
		stuck.Yield(nil, ever)
		began := time.Now()
		if !next.Yield(nil, ever) || time.Since(began) > 2*stuckAfter {
			t.Errorf("got no slot after %v", time.Since(began))
		}
		again := make(chan bool)
		go func() { again <- stuck.Yield(nil, time.Millisecond) }()
		if <-again {
			t.Error("two runs have the only slot")
		}
		next.Release()
		if !stuck.Yield(nil, ever) {
			t.Error("a run that lost its slot gets no other")
		}
	})
}

// engineWithOneSlot is an engine in real turns, with native.sleep.
func engineWithOneSlot() *Engine {
	e := New(Config{Modules: []native.Module{coremodule.New()}})
	e.turns = newAdmission(1)
	return e
}

type nowhere struct{}

func (nowhere) Log(string, string, value.Map) {}

func TestARunThatWaitsInANativeCallGivesItsSlotUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engineWithOneSlot()
		began := time.Now()
		var runs sync.WaitGroup
		for range 10 {
			runs.Go(func() {
				r := e.Run(t.Context(), Invocation{Tenant: "a", Script: "sleep.lua", Source: `native.sleep(1000) return 1`, Log: nowhere{}})
				if string(r.JSON) != "1" {
					t.Errorf("got %s %v", r.JSON, r.Error)
				}
			})
		}
		runs.Wait()
		// The slot isn't even taken away from anybody.
		if took := time.Since(began); took >= time.Second+stuckAfter {
			t.Errorf("ten runs that sleep for 1s took %v", took)
		}
		if e.turns.free != 1 || len(e.turns.holders) != 0 {
			t.Errorf("got %d free slots and %d holders, want 1 and none", e.turns.free, len(e.turns.holders))
		}
	})
}

// A loop of runs that are ended, cancelled or fail, over one slot, leaves it
// free.
func TestHoweverARunEndsItsSlotIsFree(t *testing.T) {
	e := engineWithOneSlot()
	var runs sync.WaitGroup
	for _, source := range []string{
		`while true do end`, `error("x")`, `return pcall(function() while true do end end)`, `native.sleep(1e6)`,
		`local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end`, `return 1`, `(`,
	} {
		for _, id := range []tenant.ID{"a", "b"} {
			runs.Go(func() {
				e.Run(t.Context(), Invocation{Tenant: id, Script: "x.lua", Source: source, Log: nowhere{}, Limits: tenant.Limits{Timeout: 50 * time.Millisecond}})
			})
		}
	}
	runs.Wait()
	if e.turns.free != 1 || len(e.turns.holders) != 0 || len(e.turns.lines) != 0 {
		t.Errorf("got %d free slots, %d holders and %d lines, want 1 and none", e.turns.free, len(e.turns.holders), len(e.turns.lines))
	}
}

func TestASlotIsNotTakenFromWhoHasNotBeenToldOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(1)
		s := a.seat("acme")
		a.mu.Lock()
		a.getInLine(s)
		a.serve()
		a.mu.Unlock()
		time.Sleep(time.Second) // the process is stopped
		a.takeAway()
		if !s.holds.Load() {
			t.Fatal("the slot was taken away")
		}
		<-s.ready
		if a.takeAway(); s.holds.Load() {
			t.Error("the slot is kept for ever")
		}
		if !s.Yield(nil, time.Second) {
			t.Error("no slot though it is free")
		}
	})
}
