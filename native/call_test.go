package native_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

// acting is a module whose function act takes 10 ms and counts.
func acting(count *int) nativetest.Open {
	return func(*testing.T, *clock.Dual) []native.Module {
		return []native.Module{{Name: "acting", Funcs: []native.Func{
			{Name: "act", Do: func(c *native.Call) error {
				*count++
				time.Sleep(10 * time.Millisecond) // as a function does that ignores its context
				return nil
			}},
			{Name: "fail", Do: func(*native.Call) error { return errors.New("a secret of the host") }},
		}}}
	}
}

func TestCallIsNotMadeAfterItsDeadline(t *testing.T) {
	for name, body := range map[string]string{
		"directly":              `while true do native.acting.act() end`,
		"in pcall":              `while true do pcall(native.acting.act) end`,
		"as a callback of gsub": `(("x"):rep(100)):gsub(".", native.acting.act)`,
		"as a comparator":       `local t = {} for i = 1, 100 do t[i] = i end table.sort(t, native.acting.act)`,
		"as an iterator":        `for _ in function() native.acting.act() return 1 end do end`,
		"as a handler":          `while true do xpcall(error, native.acting.act) end`,
		"as a coroutine's body": `while true do coroutine.wrap(native.acting.act)() end`,
		"as a metamethod":       `local t = setmetatable({}, {__index = native.acting.act}) while true do local _ = t.x end`,
		"as a reader of load":   `load(function() native.acting.act() return " " end)`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				count := 0
				nativetest.New(t, acting(&count)).Expect(t, `"deadline exceeded"`,
					`return (select(2, pcall(native.deadline.with, 55, function() `+body+` end)))`)
				if count == 0 || count > 6 {
					t.Errorf("%d calls of 10 ms each began within 55 ms", count)
				}
			})
		})
	}
}

func TestCallHidesErrorsOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, acting(new(int)))
		m.Expect(t, `["internal","internal error in native.fail"]`, `
			local _, err = pcall(native.acting.fail)
			return {err.code, err.message}`)
		r := m.Run(t, "a", `native.acting.fail()`)
		if len(r.Incidents) != 1 || r.Incidents[0].Error() != "a secret of the host" {
			t.Errorf("got the incidents %v", r.Incidents)
		}
	})
}

func TestErrorHasNoPositionWhereNoLuaRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nativetest.New(t, nil).Expect(t, `[`+
			`"bad argument #1 to 'sleep' (ms: got no value, want number)",`+
			`"attempt to yield from outside a coroutine",`+
			`"module 'absent' not found: this run has no folder of scripts"]`, `
			local function message(...) return (select(2, pcall(...))) end
			return { message(native.sleep), message(coroutine.yield), message(require, "absent") }`)
	})
}
