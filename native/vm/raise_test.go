package vm

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/clock/clocktest"
)

// allocated is how many bytes f makes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestTracebackForgetsTailCalls(t *testing.T) {
	for name, source := range map[string]string{
		"an error":               `local function f(n) if n == 0 then error("e") end return f(n - 1) end return (pcall(f, 1e6))`,
		"an error of xpcall":     `local function f(n) if n == 0 then error("e") end return f(n - 1) end return (xpcall(function() f(1e6) end, function() error("worse") end))`,
		"a full stack":           `local function deep() return 1 + deep() end local function f(n) if n == 0 then return 1 + deep() end return f(n - 1) end return (pcall(f, 1e6))`,
		"the end of a deadline":  `local function f() return f() end return (pcall(with, 10000, f))`,
		"an error of the run's":  `local function f(n) if n == 0 then error("e") end return f(n - 1) end return pcall(coroutine.resume(coroutine.create(f), 1e6))`,
		"a coroutine left alone": `local function f(n) if n == 0 then coroutine.yield() end return f(n - 1) end coroutine.resume(coroutine.create(f), 1e6) return false`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Yield: runtime.Gosched})
			if name == "the end of a deadline" {
				clk := clocktest.NewManual()
				m = start(t, Config{Clock: clock.NewDual(clk), Yield: func() { clk.Advance(1e6, 1e6) }})
			}
			// gopher-lua's list of a million lines takes 16 MB at least.
			if n := allocated(func() { m.expect("false", source); m.Close() }); n > 10<<20 {
				t.Errorf("%d MiB were made", n>>20)
			}
		})
	}
}

const deepStack = `
	local function inner() error("e") end
	local function deep(n) if n == 0 then inner() end return 1 + deep(n - 1) end
	local function outer() return 1 + deep(900) end
	outer()
	return 1`

func TestTracebackOfADeepStackShowsBothEnds(t *testing.T) {
	m := start(t, Config{Yield: runtime.Gosched})
	L := m.Thread()
	fn, err := L.Load(strings.NewReader(deepStack), "test")
	if err != nil {
		t.Fatal(err)
	}
	_, failure := m.Call(fn)
	if failure == nil || len(failure.Stack) != 21 {
		t.Fatalf("got %+v", failure)
	}
	for i, want := range map[int]Frame{
		0: {"test", 2, "inner"}, 1: {"test", 3, "deep"}, 10: {"", 0, "... (884 more)"},
		19: {"test", 4, "outer"}, 20: {"test", 5, "main chunk"},
	} {
		if got := failure.Stack[i]; got != want {
			t.Errorf("frame %d: got %v, want %v", i, got, want)
		}
	}
}

func TestInterruptHasNoTraceback(t *testing.T) {
	const coroutines = 100
	m := start(t, Config{Yield: runtime.Gosched})
	m.expect("nil", `
		local function deep(n) if n == 0 then coroutine.yield() end return 1 + deep(n - 1) end
		keep = {}
		for i = 1, 100 do keep[i] = coroutine.create(deep) coroutine.resume(keep[i], 900) end`)
	// A trace of 900 lines takes 100 KB and more to write.
	if n := allocated(m.Close); n > coroutines*20<<10 {
		t.Errorf("%d KiB were made for each of %d coroutines", n/coroutines>>10, coroutines)
	}
}

// ticking is a clock on which each reading takes a millisecond.
type ticking struct{ *clocktest.Manual }

func (c ticking) Now() clock.Instant {
	c.Advance(time.Millisecond, time.Millisecond)
	return c.Manual.Now()
}
