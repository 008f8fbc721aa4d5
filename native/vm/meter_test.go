package vm

import (
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
		t.Error("instructions ran, and none polled")
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

func TestInstructionLimitIsExact(t *testing.T) {
	for _, limit := range []int64{1, 255, 256, 257, 1000, 12345} {
		m := start(t, Config{Limits: Limits{Instructions: limit}})
		_, _ = m.do(`while true do end`)
		if got := m.Steps(); got != limit {
			t.Errorf("%d steps under a limit of %d", got, limit)
		}
	}
}

func TestStepsCountWhileFramesOpenAndClose(t *testing.T) {
	m := start(t, Config{Limits: Limits{Instructions: 10_000}})
	_, _ = m.do(`local function fn() end while true do with(1000, fn) end`)
	if k := m.Interrupt(); k == nil || k.Cause != Instructions {
		t.Errorf("interrupted by %v", k)
	}
}
