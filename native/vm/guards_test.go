package vm

import (
	"strconv"
	"testing"
	"testing/synctest"

	lua "github.com/yuin/gopher-lua"
)

func TestAlarmMakesARunPollAtOnce(t *testing.T) {
	m := start(t, Config{})
	m.Globals().RawSetString("ring", NewFunction(func(*lua.LState) int {
		m.meter.left, m.meter.granted = pollIntervalMax, pollIntervalMax
		m.meter.alarm.Store(true)
		return 0
	}))
	heard := false
	m.Globals().RawSetString("hear", NewFunction(func(*lua.LState) int { heard = !m.meter.alarm.Load(); return 0 }))
	if m.expect("nil", `ring() hear()`); !heard {
		t.Error("instructions ran, and none looked")
	}
}

func TestChargeRefusesAValueOverTheLimit(t *testing.T) {
	const limit = 1 << 20
	m := start(t, Config{Limits: Limits{MemoryBytes: limit}})
	m.Globals().RawSetString("charge", NewFunction(func(L *lua.LState) int { m.Charge(int64(L.CheckNumber(1))); return 0 }))
	m.expect("true", `return (pcall(charge, 2^19))`)
	if _, err := m.do(`charge(2^20 + 1)`); err == nil || m.interrupt == nil || m.interrupt.Cause != Memory {
		t.Errorf("got %v and the token %v, want the end of the run", err, m.interrupt)
	}
}

// A Go function that calls others in a loop is left with the first that is
// interrupted.
func TestInterruptPassesGoFunctions(t *testing.T) {
	for _, call := range []string{`pcall, spin`, `xpcall, spin, tostring`, `coroutine.resume, coroutine.create(spin)`} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, Config{})
				calls := 0
				m.Globals().RawSetString("often", NewFunction(func(L *lua.LState) int {
					for range 10 {
						calls++
						L.Push(L.Get(1))
						for i := 2; i <= 3; i++ {
							L.Push(L.Get(i))
						}
						L.Call(2, 0)
					}
					return 0
				}))
				m.expect("false", spin+`return (pcall(with, 20, function() often(`+call+`) end))`)
				if calls != 1 {
					t.Errorf("got %d calls, want one", calls)
				}
			})
		})
	}
}

func TestStepInterruptsALoopInGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		rounds := 0
		m.Globals().RawSetString("loop", NewFunction(func(L *lua.LState) int {
			for rounds = 0; rounds < 10_000; rounds++ {
				m.Step(pollIntervalMax)
			}
			return 0
		}))
		m.expect("false", `return (pcall(with, 20, loop))`)
		if rounds > 100 {
			t.Errorf("got %d rounds, want about 20", rounds)
		}
	})
}

func TestInterruptReachesNoMessageHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		seen := 0
		m.Globals().RawSetString("see", NewFunction(func(*lua.LState) int { seen++; return 0 }))
		m.expect("false", spin+`return (pcall(with, 20, function() xpcall(spin, see) end))`)
		if seen != 0 {
			t.Errorf("the handler was called %d times", seen)
		}
	})
}

func TestNestingIsBoundedAt200(t *testing.T) {
	for name, call := range map[string]string{
		"pcall":      `pcall(f)`,
		"xpcall":     `xpcall(f, print)`,
		"with":       `pcall(with, 1e6, f)`,
		"coroutines": `coroutine.resume(coroutine.create(f))`,
	} {
		m := start(t, Config{})
		got, err := m.do(`local depth = 0 local function f() depth = depth + 1 ` + call + ` end f() return depth`)
		want := strconv.Itoa(maxNesting)
		if name == "with" {
			want = strconv.Itoa(maxNesting / 2)
		}
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v deep, %v, want %s", name, got, err, want)
		}
	}
}

func TestCallDepthIsBounded(t *testing.T) {
	m := start(t, Config{})
	m.expect("true", `
		local depth = 0
		local function f() depth = depth + 1 return 1 + f() end
		pcall(f)
		return depth > 900 and depth <= 1000`)
}

func TestArrayHasALargestIndex(t *testing.T) {
	m := start(t, Config{})
	m.expect("0 1", `local t = {} t[2^21] = 1 return #t .. " " .. t[2^21]`)
}
