package vm

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/clock/clocktest"
)

func TestWalkerIsInterruptedInOneLargeTable(t *testing.T) {
	m := start(t, Config{Clock: clock.NewDual(ticking{clocktest.NewManual()}), Yield: func() {}})
	m.Globals().RawSetString("memory", NewFunction(func(L *lua.LState) int { L.Push(lua.LNumber(Of(L).Memory())); return 1 }))
	m.expect("deadline exceeded", `
		t = {}
		for i = 1, 300000 do t[i] = i end
		return select(2, pcall(with, 100, memory))`)
}

// inUse is what is live in the heap and on the stacks of goroutines.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestWalkerEstimatesWhatValuesTake(t *testing.T) {
	for name, source := range map[string]string{
		"empty tables":             `for i = 1, 50000 do all[i] = {} end`,
		"arrays":                   `for i = 1, 50000 do all[i] = {i + 0.5, i + 0.25, i + 0.125} end`,
		"fields":                   `for i = 1, 20000 do all[i] = {x = 1, y = 2} end`,
		"one large array":          `for i = 1, 500000 do all[i] = i + 0.5 end`,
		"many string keys":         `for i = 1, 100000 do all["key" .. i] = true end`,
		"many other keys":          `for i = 1, 100000 do all[i + 0.5] = true end`,
		"deleted keys":             `for i = 1, 100000 do all["key" .. i] = true all["key" .. i] = nil end`,
		"strings":                  `for i = 1, 20000 do all[i] = ("x"):rep(500) .. i end`,
		"one string shared":        `local s = ("x"):rep(500) for i = 1, 200000 do all[i] = s end`,
		"one large string":         `all = ("x"):rep(20000000)`,
		"closures":                 `for i = 1, 50000 do local a, b = i, i all[i] = function() return a, b end end`,
		"closures of one variable": `local n = 0 for i = 1, 50000 do all[i] = function() n = n + 1 end end`,
		"nested tables":            `local t = all for i = 1, 50000 do t[1] = {} t = t[1] end`,
		"coroutines": `for i = 1, 2000 do
			local co = coroutine.create(function() local x = {} coroutine.yield() return x end)
			coroutine.resume(co)
			all[i] = co
		end`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Yield: runtime.Gosched})
			m.expect("nil", `all = {}`)
			empty, before := m.measured(), inUse()
			m.expect("nil", source)
			want := inUse() - before
			if got := m.measured() - empty; got < want*7/10 || got > want*13/10 {
				t.Errorf("got %d bytes, want %d within 30 %%", got, want)
			}
		})
	}
}

// What only the stack of some thread holds is found too.
func TestWalkerFindsWhatLiesOnStacks(t *testing.T) {
	const large = `local s = ("x"):rep(1e6) .. tostring({}) `
	for name, source := range map[string]string{
		"frames":          `local function f(n) ` + large + `if n > 1 then f(n - 1) else hold() end return s end f(10)`,
		"tail calls":      `local function g() hold() end local function f(n) ` + large + `if n > 1 then f(n - 1) else return g() end return s end f(11)`,
		"arguments":       large + `local function f(n, ...) if n > 0 then f(n - 1, ("x"):rep(1e6) .. n, ...) else hold() end end f(9)`,
		"protected calls": `local function f(n) ` + large + `if n > 1 then pcall(f, n - 1) else hold() end return s end f(10)`,
		"deadlines":       `local function f(n) ` + large + `if n > 1 then with(1e6, f, n - 1) else hold() end return s end f(10)`,
		"running ones":    `local function f(n) ` + large + `if n > 1 then coroutine.resume(coroutine.create(f), n - 1) else hold() end return s end f(10)`,
		"suspended ones":  `local co = {} for i = 1, 10 do co[i] = coroutine.create(function() ` + large + `pcall(coroutine.yield) return s end) coroutine.resume(co[i]) end hold() return co`,
		"upvalues":        `local function f(n) ` + large + `if n > 1 then f(n - 1) else hold() end return function() return s end end f(10)`,
		"unstarted ones":  `local co = {} for i = 1, 10 do ` + large + `co[i] = coroutine.create(function() return s end) end hold() return co`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Yield: runtime.Gosched})
			var got int64
			m.Globals().RawSetString("hold", NewFunction(func(*lua.LState) int { got = m.measured(); return 0 }))
			if _, err := m.do(source); err != nil {
				t.Fatal(err)
			}
			if got < 10e6 || got > 12e6 {
				t.Errorf("got %d bytes, want about 10 million", got)
			}
		})
	}
}

func TestWalkerStopsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clocktest.NewManual()
		m := start(t, Config{Clock: clock.NewDual(clk), Limits: Limits{Timeout: time.Hour}})
		m.expect("nil", `all = {} for i = 1, 5000 do all[i] = {} end`)
		clk.Advance(2*time.Hour, 0)
		m.measure()
		if m.interrupt == nil || m.interrupt.Cause != Deadline || m.memory.measured != 0 {
			t.Errorf("got the interrupt %v and %d bytes, want the end of the run and no measure", m.interrupt, m.memory.measured)
		}
	})
}

func TestWalkerStopsInOneLargeTable(t *testing.T) {
	for name, source := range map[string]string{
		"an array": `all = {} for i = 1, 50000 do all[i] = i + 0.5 end`,
		"fields":   `all = {} for i = 1, 50000 do all["k" .. i] = i end`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clk := clocktest.NewManual()
				m := start(t, Config{Clock: clock.NewDual(clk), Limits: Limits{Timeout: time.Hour}})
				m.expect("nil", source)
				clk.Advance(2*time.Hour, 0)
				w := walker{run: m.Run}
				if w.walk() || w.visited > 5*pollObjects {
					t.Errorf("%d objects were visited after the deadline", w.visited)
				}
			})
		})
	}
}
