package vm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"
)

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

func TestInterruptIsNotToldByTheTextOfAnError(t *testing.T) {
	m := start(t, Config{})
	m.expect("deadline exceeded again", `
		local _, err = pcall(with, 10000, function() error("deadline exceeded", 0) end)
		return err .. " again"`)
	if k := m.Interrupt(); k != nil {
		t.Errorf("interrupted by %v", k)
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
				t.Errorf("error %v, interrupted by %v, want %v", err, k, test.want)
			}
		})
	}
}

func TestContextCancellationEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := start(t, Config{Context: ctx})
		why := errors.New("stopped by the operator")
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, _ = m.do(spin + `while true do pcall(spin) end`)
		if k := m.Interrupt(); k == nil || k.Cause != Cancelled || k.Reason != why {
			t.Errorf("interrupted by %+v", k)
		}
	})
}
