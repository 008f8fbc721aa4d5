package vm

import (
	"runtime"
	"testing"
	"testing/synctest"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// guarded is a heap that tests set, and runs whose memory it is.
type guarded struct {
	*MemoryWatcher
	now   heap
	clock *clock.Dual
}

func newGuarded(limit int64) *guarded {
	g := &guarded{MemoryWatcher: NewMemoryWatcher(limit), clock: clock.NewDual(clock.System())}
	g.MemoryWatcher.read = func() heap { return g.now }
	return g
}

// run makes a run that holds size bytes.
func (g *guarded) run(t *testing.T, size string, limits Limits) *machine {
	m := start(t, Config{Clock: g.clock, Memory: g.MemoryWatcher, Limits: limits, Yield: runtime.Gosched})
	m.expect("nil", `all = ("x"):rep(`+size+`)`)
	return m
}

// ended asks a run to mind its memory, and returns the limit that ended it.
func (g *guarded) ended(m *machine) Cause {
	g.sampledAt.Store(-1 << 40) // the last look at the heap is long ago
	if m.withinMemoryLimits(g.clock.ElapsedMax()) {
		return ""
	}
	return m.interrupt.Cause
}

func TestMemoryIsMeasuredOnlyWhenItMayBeOverTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10 << 20
		g := newGuarded(1) // so it is always looked at
		m := g.run(t, "8e6", Limits{MemoryBytes: limit})
		for _, step := range []struct {
			name                string
			allocated, occupied int64
			measured            bool
		}{
			{"a small heap", 0, limit, false},
			{"a large heap of others", 0, 100 * limit, false},
			{"it may have grown", 2 * limit, 100 * limit, true},
			{"not since", 2 * limit, 100 * limit, false},
			{"it has made garbage, which is gone", 20 * limit, limit, false},
			{"garbage that is still there", 40 * limit, 100 * limit, true},
		} {
			m.memory.walkedAt = -1
			g.now.allocated, g.now.occupied = step.allocated, step.occupied
			if ended := g.ended(m); ended != "" {
				t.Fatalf("%s: ended by %s", step.name, ended)
			}
			if got := m.memory.walkedAt >= 0; got != step.measured {
				t.Errorf("%s: got measured %t, want %t", step.name, got, step.measured)
			}
		}
	})
}

func TestMemoryOverTheLimitEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(0)
		m := g.run(t, "8e6", Limits{MemoryBytes: 8e6})
		g.now.allocated, g.now.occupied = 1e9, 1e9
		if got := g.ended(m); got != Memory || m.interrupt.Value != 8e6 {
			t.Errorf("got %q of %v, want memory of 8000000", got, m.interrupt)
		}
	})
}

func TestEvictionBeginsWithTheLargestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(15e6)
		large, medium, small := g.run(t, "2e7", Limits{}), g.run(t, "15e6", Limits{}), g.run(t, "1e6", Limits{})
		for _, m := range []*machine{large, medium, small} {
			m.measure()
		}
		expect := func(when string, m *machine, want Cause) {
			t.Helper()
			if got := g.ended(m); got != want {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		g.now.occupied = 100e6
		expect("while most of it is garbage", large, "")
		g.now.live = 30e6
		expect("the second", medium, "")
		expect("the largest", large, ProcessMemory)
		large.Close()
		expect("before its memory can be collected", medium, "")
		g.now.collected += 2
		g.now.live = 20e6
		expect("the smallest", small, "")
		expect("the next", medium, ProcessMemory)
		medium.Close()
		g.now.collected += 2
		expect("one that holds nearly nothing", small, "")
	})
}

func TestEvictionGoesByAllocationWhereNoWalkFindsTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(30e6)
		hiding, innocent := g.run(t, "1", Limits{}), g.run(t, "1", Limits{})
		innocent.measure()
		g.now.allocated, g.now.occupied, g.now.live = 1e9, 1e9, 1e9
		if got := g.ended(hiding); got != ProcessMemory {
			t.Errorf("got %q, want the one that allocated 1 GB to be ended", got)
		}
	})
}

func TestChargeMeasuresWhenChargesSumUp(t *testing.T) {
	const limit = 10 << 20
	charge := func(hold string) *Interrupt {
		m := start(t, Config{Limits: Limits{MemoryBytes: limit}})
		m.expect("nil", `all = ("x"):rep(`+hold+`)`)
		_ = m.protected(func() {
			for range 100 {
				m.Charge(1 << 20)
			}
		})
		return m.interrupt
	}
	synctest.Test(t, func(t *testing.T) {
		if kill := charge("1e6"); kill != nil {
			t.Errorf("a run that keeps nothing of it: got %v, want it to go on", kill)
		}
		if kill := charge("11e6"); kill == nil || kill.Cause != Memory {
			t.Errorf("a run that holds more than its limit: got %v, want it ended", kill)
		}
	})
}

// protected calls fn as a library function of the run.
func (m *machine) protected(fn func()) error {
	m.Globals().RawSetString("fn", NewFunction(func(*lua.LState) int { fn(); return 0 }))
	_, err := m.do(`fn()`)
	return err
}

func TestMemoryEstimateIsRenewedAfterEnoughWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		before := m.Memory()
		m.expect("nil", `all = ("x"):rep(1e6)`)
		if got := m.Memory(); got != before {
			t.Errorf("got %d right after a measure of %d, want the same", got, before)
		}
		m.expect("nil", `for i = 1, 10000 do end`)
		if got := m.Memory() - before; got < 1e6 || got > 1.1e6 {
			t.Errorf("got %d bytes more, want about a million", got)
		}
	})
}
