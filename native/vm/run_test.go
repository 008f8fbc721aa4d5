package vm

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// machine is a run with the functions that the tests' scripts need.
type machine struct {
	*Run
	t *testing.T
}

// start makes a run in fake time: each look at the clock lets 1 ms pass.
func start(t *testing.T, cfg Config) *machine {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = clock.NewDual(clock.System())
	}
	if cfg.Yield == nil {
		cfg.Yield = func() { time.Sleep(time.Millisecond) }
	}
	m := &machine{NewRun(cfg), t}
	t.Cleanup(m.Close)
	g := m.Globals()
	L := m.Thread()
	lua.OpenBase(L)
	lua.OpenString(L)
	lua.OpenTable(L)
	for name, fn := range functions {
		g.RawSetString(name, NewFunction(fn))
	}
	co := L.NewTable()
	for _, name := range []string{"create", "resume", "yield", "status", "running"} {
		co.RawSetString(name, g.RawGetString("co_"+name))
	}
	g.RawSetString("coroutine", co)
	return m
}

var functions = map[string]lua.LGFunction{
	"pcall": func(L *lua.LState) int {
		L.Insert(lua.LTrue, 1)
		n, err := Of(L).PCall(L, 2, L.GetTop()-2)
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"xpcall": func(L *lua.LState) int {
		n, err := Of(L).XPCall(L, 1, 0, L.Get(2))
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"with": func(L *lua.LState) int {
		r := Of(L)
		at := r.Clock().ElapsedMax() + time.Duration(L.CheckNumber(1))*time.Millisecond
		return r.Within(L, at, 2, L.GetTop()-2).Finish(L)
	},
	"co_create": func(L *lua.LState) int {
		L.Push(Of(L).NewCoroutine(L.CheckFunction(1)))
		return 1
	},
	"co_resume": func(L *lua.LState) int {
		n, err := Of(L).Resume(L, L.CheckThread(1), 2, L.GetTop()-1)
		if err != nil {
			L.Push(lua.LFalse)
			L.Push(err)
			return 2
		}
		L.Insert(lua.LTrue, L.GetTop()-n+1)
		return n + 1
	},
	"co_yield":  func(L *lua.LState) int { return Of(L).Yield(L, L.GetTop()) },
	"co_status": func(L *lua.LState) int { L.Push(lua.LString(CoroutineStatus(L.CheckThread(1)))); return 1 },
	"co_running": func(L *lua.LState) int {
		if h := Of(L).RunningCoroutine(); h != nil {
			L.Push(h)
			return 1
		}
		return 0
	},
	"panics": func(*lua.LState) int { panic("secret") },
	"call":   func(L *lua.LState) int { L.Push(L.Get(1)); L.Call(0, 1); return 1 },
	"steps":  func(L *lua.LState) int { Of(L).Step(L.CheckInt(1)); return 0 },
	"gate":   func(L *lua.LState) int { Of(L).CheckInterrupt(); return 0 },
}

// do runs source and returns its first result, or the error.
func (m *machine) do(source string) (lua.LValue, error) {
	m.t.Helper()
	L := m.Thread()
	fn, err := L.Load(strings.NewReader(source), "test")
	if err != nil {
		m.t.Fatal(err)
	}
	t, failure := m.Call(fn)
	if failure != nil {
		return nil, failure
	}
	return t, nil
}

// expect runs source and compares its result, as text.
func (m *machine) expect(want, source string) {
	m.t.Helper()
	got, err := m.do(source)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, source)
	}
	if got.String() != want {
		m.t.Errorf("got %s, want %s\n%s", got, want, source)
	}
}

const spin = `local function spin() while true do end end `

func TestDeadlineInterruptsWhateverRunsUnderIt(t *testing.T) {
	for name, body := range map[string]string{
		"a loop":                           `spin()`,
		"a loop in pcall":                  `while true do pcall(spin) end`,
		"pcall as the last act":            `return pcall(spin)`,
		"xpcall with a spinning handler":   `return xpcall(error, spin)`,
		"an error handler of an interrupt": `return xpcall(spin, function() return 1 end)`,
		"a coroutine made inside":          `return coroutine.resume(coroutine.create(spin))`,
		"a coroutine made before":          `return coroutine.resume(old)`,
		"a pcall in a coroutine":           `return coroutine.resume(coroutine.create(function() return pcall(spin) end))`,
		"a gsub callback":                  `return (("x"):rep(10):gsub(".", spin))`,
		"a sort comparator":                `table.sort({1, 2, 3}, spin)`,
		"an __index function":              `return setmetatable({}, {__index = spin}).x`,
		"an iterator":                      `for _ in spin do end`,
		"steps of a Go function":           `while true do steps(100000) end`,
		"a gate":                           `while true do gate() end`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, Config{})
				began := time.Now()
				m.expect("false deadline exceeded 7", spin+`
					old = coroutine.create(spin)
					local ok, err = pcall(with, 50, function() `+body+` end)
					local co = coroutine.create(function() return 7 end)
					local _, v = coroutine.resume(co)
					return tostring(ok) .. " " .. tostring(err) .. " " .. v`)
				if lag := time.Since(began) - 50*time.Millisecond; lag < 0 || lag > 2*time.Millisecond {
					t.Errorf("stopped %v after the end", lag)
				}
			})
		})
	}
}

func TestDeadlineOutsideWinsOverOneInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		m.expect("outer false deadline exceeded", spin+`
			local inner = "nothing"
			local ok, err = pcall(with, 20, function()
				inner = tostring(pcall(with, 1000, spin))
			end)
			return (inner == "nothing" and "outer" or inner) .. " " .. tostring(ok) .. " " .. err`)
	})
}

func TestDeadlineInsideIsAnOrdinaryErrorOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		m.expect("false deadline exceeded still here", spin+`
			return (with(1000, function()
				local ok, err = pcall(with, 20, spin)
				return tostring(ok) .. " " .. err .. " still here"
			end))`)
	})
}

func TestDeadlineExpiresEvenIfTheFunctionReturnsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		m.Globals().RawSetString("late", NewFunction(func(L *lua.LState) int {
			time.Sleep(time.Second)
			L.Push(lua.LString("result"))
			return 1
		}))
		m.expect("deadline exceeded", `return select(2, pcall(with, 500, late))`)
	})
}

func TestInterruptIsNotToldByTheTextOfAnError(t *testing.T) {
	m := start(t, Config{})
	m.expect("deadline exceeded again", `
		local _, err = pcall(with, 10000, function() error("deadline exceeded", 0) end)
		return err .. " again"`)
	if k := m.Interrupt(); k != nil {
		t.Errorf("killed by %v", k)
	}
}

func TestLimitsOfTheRunCannotBeCaught(t *testing.T) {
	for _, test := range []struct {
		limits Limits
		want   Cause
	}{
		{Limits{Timeout: 20 * time.Millisecond}, Deadline},
		{Limits{Instructions: 100_000}, Instructions},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := start(t, Config{Limits: test.limits})
			_, err := m.do(spin + `while true do pcall(with, 1e6, pcall, spin) end`)
			if k := m.Interrupt(); err == nil || k == nil || k.Cause != test.want {
				t.Errorf("error %v, killed by %v, want %v", err, k, test.want)
			}
		})
	}
}

func TestInstructionLimitIsExact(t *testing.T) {
	for _, limit := range []int64{1, 255, 256, 257, 1000, 12345} {
		m := start(t, Config{Limits: Limits{Instructions: limit}})
		_, _ = m.do(`while true do end`)
		if got := m.Steps(); got != limit {
			t.Errorf("%d steps under a limit of %d", got, limit)
		}
	}
}

func TestContextCancellationEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := start(t, Config{Context: ctx})
		why := errors.New("the operator asked")
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, _ = m.do(spin + `while true do pcall(spin) end`)
		if k := m.Interrupt(); k == nil || k.Cause != Cancelled || k.Reason != why {
			t.Errorf("killed by %+v", k)
		}
	})
}

func TestUpvaluesAreClosedByCaughtErrors(t *testing.T) {
	m := start(t, Config{})
	m.expect("1", `local x = 0; local function inc() x = x + 1 end; pcall(error); inc(); return x`)
	m.expect("orig", `
		local saved
		xpcall(function() local v = "orig"; saved = function() return v end; error("x") end, function() return 1 end)
		local function other() local a, b, c = 9, 9, 9; return a + b + c end
		xpcall(other, print); other()
		return saved()`)
	m.expect("5", `
		local get
		pcall(function() local v = 5; get = function() return v end; panics() end)
		pcall(function() local v = 6; return v end)
		return get()`)
}

func TestMessageHandlerSeesErrorsAndMayFail(t *testing.T) {
	m := start(t, Config{})
	m.expect("handled: boom", `return select(2, xpcall(function() error("boom", 0) end, function(e) return "handled: " .. e end))`)
	m.expect("false", `return (xpcall(function() error("boom") end, function() error("worse") end))`)
	m.expect("fine", `return select(2, pcall(function() return "fine" end))`)
}

func TestYieldCrossesGoFunctions(t *testing.T) {
	m := start(t, Config{})
	for name, body := range map[string]string{
		"pcall":        `local _, v = pcall(function() return coroutine.yield(1) end); return v`,
		"xpcall":       `local _, v = xpcall(function() return coroutine.yield(1) end, print); return v`,
		"a metamethod": `return setmetatable({}, {__index = function() return coroutine.yield(1) end}).x`,
		"gsub":         `local v; (("a"):gsub("a", function() v = coroutine.yield(1) end)); return v`,
		"sort":         `local v; table.sort({1, 2}, function(a, b) v = v or coroutine.yield(1); return a < b end); return v`,
		"an iterator":  `for v in function() return coroutine.yield(1) end do return v end`,
	} {
		t.Run(name, func(t *testing.T) {
			m.expect("1 22 dead", `
				local co = coroutine.create(function() `+body+` end)
				local _, first = coroutine.resume(co)
				local _, last = coroutine.resume(co, 22)
				return first .. " " .. tostring(last) .. " " .. coroutine.status(co)`)
		})
	}
}

func TestYieldCannotSuspendALease(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local co = coroutine.create(function() with(1000, function() coroutine.yield(1) end) end)
		local ok, err = coroutine.resume(co)
		return not ok and err:find("a lease can't be suspended", 1, true) ~= nil`)
	m.expect("3", `
		return (with(1000, function()
			local co = coroutine.create(function() coroutine.yield(1); coroutine.yield(2) end)
			local _, a = coroutine.resume(co)
			local _, b = coroutine.resume(co)
			return a + b
		end))`)
}

func TestYieldOutsideACoroutineIsAnError(t *testing.T) {
	m := start(t, Config{})
	m.expect("false", `return (pcall(coroutine.yield, 1))`)
}

func TestNestingIsBounded(t *testing.T) {
	m := start(t, Config{})
	for name, source := range map[string]string{
		"pcall":      `local function f() local ok, err = pcall(f); if not ok then error(err, 0) end end f()`,
		"coroutines": `local function f() local ok, err = coroutine.resume(coroutine.create(f)); if not ok then error(err, 0) end end f()`,
		"mixed":      `local function f() local ok, err = pcall(function() return assert(coroutine.resume(coroutine.create(f))) end); if not ok then error(err, 0) end end f()`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.do(source)
			if err == nil || !strings.Contains(err.Error(), "stack overflow") {
				t.Errorf("got %v", err)
			}
			m.expect("true", `return (pcall(function() end))`)
		})
	}
}

func TestPanicNeverLeavesARun(t *testing.T) {
	for name, source := range map[string]string{
		"a Go panic":                      "panics()",
		"a full registry":                 `unpack({}, 1, 1e6)`,
		"a full registry under a handler": `local ok, err = xpcall(function() return unpack({}, 1, 1e6) end, function(e) return e end); error(err, 0)`,
		"growing varargs in a tail call":  `local function f(...) return f(1, ...) end f()`,
		"endless recursion":               `local function f() return 1 + f() end f()`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Yield: runtime.Gosched})
			m.expect("false", `return (pcall(function() `+source+` end))`)
			_, err := m.do(source)
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "goroutine") {
				t.Errorf("got %v", err)
			}
			if n := len(m.Incidents()); n > 0 && source != "panics()" {
				t.Errorf("%d incidents: %v", n, m.Incidents())
			}
		})
	}
}

func TestGoCallsAreBounded(t *testing.T) {
	m := start(t, Config{Yield: runtime.Gosched})
	m.expect("201", `
		local n = 0
		local function f() n = n + 1 return call(f) end
		local ok, e = pcall(f)
		return not ok and e:find("more than 200 nested calls of library functions", 1, true) and n`)
	const nested = `
		local function nested(n, f) if n == 0 then return f() end return (call(function() return nested(n - 1, f) end)) end
		`
	for name, source := range map[string]string{
		"after errors":      `for i = 1, 300 do pcall(nested, 5, error) end return nested(190, function() return 1 end)`,
		"after interrupts":  `for i = 1, 300 do pcall(with, 1, nested, 5, function() while true do end end) end return nested(190, function() return 1 end)`,
		"of each coroutine": `return nested(150, function() return select(2, coroutine.resume(coroutine.create(function() return nested(150, function() return 1 end) end))) end)`,
		"of a coroutine that was suspended": `
			local co = coroutine.create(function() return nested(150, function() for i = 1, 300 do coroutine.yield() end return nested(45, function() return 1 end) end) end)
			for i = 1, 300 do nested(i % 2 * 150, function() coroutine.resume(co) end) end
			return select(2, coroutine.resume(co))`,
		"after coroutines that nobody can reach": `
			for i = 1, 300 do coroutine.resume(coroutine.create(function() nested(20, coroutine.yield) end)) end
			return nested(190, function() return 1 end)`,
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, Config{Limits: Limits{Coroutines: 50}, Yield: runtime.Gosched})
			m.expect("1", nested+source)
		})
	}
}

func TestRecursionWithoutEndIsAnErrorOfTheScript(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local function f() return 1 + f() end
		local ok, err = pcall(f)
		return not ok and err:find("stack overflow", 1, true) ~= nil`)
	m.expect("true", `
		local function f() return (("x"):gsub("x", f)) end
		local ok, err = pcall(f)
		return not ok and err:find("stack overflow", 1, true) ~= nil`)
	if n := len(m.Incidents()); n != 0 {
		t.Errorf("%d incidents: %v", n, m.Incidents())
	}
}

func TestErrorShowsNoHeapAddress(t *testing.T) {
	m := start(t, Config{})
	for _, key := range []string{"{}", "print", "coroutine.create(print)"} {
		m.expect("true", `
			local x
			local _, err = pcall(function() return x[`+key+`] end)
			return err:find("0x", 1, true) == nil and err:find("as key", 1, true) ~= nil`)
	}
}

func TestMarkInDoubtReachesEveryOpenFrame(t *testing.T) {
	m := start(t, Config{})
	var seen []bool
	m.Globals().RawSetString("frame", NewFunction(func(L *lua.LState) int {
		o := Of(L).Within(L, never-1, 1, 0)
		seen = append(seen, o.InDoubt)
		return o.Finish(L)
	}))
	m.Globals().RawSetString("write", NewFunction(func(L *lua.LState) int { Of(L).MarkInDoubt(); return 0 }))
	m.expect("nil", `frame(function() frame(function() end) frame(write) end) frame(function() end) return nil`)
	if want := []bool{false, true, true, false}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

func TestCloseLeavesNoCoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The bubble fails the test if a goroutine outlives it.
		m := start(t, Config{})
		m.expect("nil", `
			for i = 1, 100 do
				keep = {keep, coroutine.create(function() pcall(coroutine.yield); coroutine.yield() end)}
				coroutine.resume(keep[2])
			end`)
	})
}

func TestCoroutinesAreLimited(t *testing.T) {
	m := start(t, Config{Limits: Limits{Coroutines: 50}})
	_, err := m.do(`
		local keep = {}
		for i = 1, 51 do keep[i] = coroutine.create(coroutine.yield); coroutine.resume(keep[i]) end`)
	if k := m.Interrupt(); err == nil || k == nil || k.Cause != Coroutine {
		t.Errorf("error %v, killed by %v", err, k)
	}
}

func TestCoroutinesThatAreUnreachableAreClosed(t *testing.T) {
	m := start(t, Config{Limits: Limits{Coroutines: 50}})
	m.expect("nil", `for i = 1, 1000 do coroutine.resume(coroutine.create(coroutine.yield)) end`)
}

func TestStepsCountWhileFramesOpenAndClose(t *testing.T) {
	m := start(t, Config{Limits: Limits{Instructions: 10_000}})
	_, _ = m.do(`local function fn() end while true do with(1000, fn) end`)
	if k := m.Interrupt(); k == nil || k.Cause != Instructions {
		t.Errorf("killed by %v", k)
	}
}

func TestAtEndRunsTheNewestFirst(t *testing.T) {
	r := NewRun(Config{Clock: clock.NewDual(clock.System())})
	var closed []string
	for _, name := range []string{"older", "newer"} {
		r.AtEnd(func() { closed = append(closed, name) })
	}
	ctx := r.Context()
	r.AtEnd(func() {
		if ctx.Err() == nil {
			t.Error("the contexts of the run still live")
		}
	})
	r.Close()
	if want := []string{"newer", "older"}; !slices.Equal(closed, want) {
		t.Errorf("got %v, want %v", closed, want)
	}
}
