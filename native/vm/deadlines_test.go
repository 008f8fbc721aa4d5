package vm

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/clock/clocktest"
)

func TestDeadlinePassesByAStepOfTheWallClock(t *testing.T) {
	clk := clocktest.NewManual()
	m := start(t, Config{Clock: clock.NewDual(clk), Yield: func() { clk.Advance(10*time.Minute, time.Millisecond) }})
	m.expect("deadline exceeded", spin+`return select(2, pcall(with, 60000, spin))`)
}

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
		"interrupt checks":                 `while true do check() end`,
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
					t.Errorf("stopped %v after the deadline", lag)
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
