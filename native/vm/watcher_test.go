package vm

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// watched is a memory watcher whose heap a test sets.
type watched struct {
	*MemoryWatcher
	now   heap
	clock *clock.Dual
}

func newWatched(limit int64) *watched {
	g := &watched{MemoryWatcher: NewMemoryWatcher(limit), clock: clock.NewDual(clock.System())}
	g.MemoryWatcher.read = func() heap { return g.now }
	return g
}

// run makes a run that holds size bytes.
func (g *watched) run(t *testing.T, size string, limits Limits) *machine {
	m := start(t, Config{Clock: g.clock, Memory: g.MemoryWatcher, Limits: limits, Yield: runtime.Gosched})
	m.expect("nil", `all = ("x"):rep(`+size+`)`)
	return m
}

// ended has a run check its memory limits, and returns what interrupted it.
func (g *watched) ended(m *machine) Cause {
	g.sampledAt.Store(-1 << 40) // the last sample of the heap is long ago
	if m.withinMemoryLimits(g.clock.ElapsedMax()) {
		return ""
	}
	return m.interrupt.Cause
}

func TestEvictionBeginsWithTheLargestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newWatched(15e6)
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
		g := newWatched(30e6)
		hiding, innocent := g.run(t, "1", Limits{}), g.run(t, "1", Limits{})
		innocent.measure()
		g.now.allocated, g.now.occupied, g.now.live = 1e9, 1e9, 1e9
		if got := g.ended(hiding); got != ProcessMemory {
			t.Errorf("got %q, want the one that allocated 1 GB to be ended", got)
		}
	})
}
