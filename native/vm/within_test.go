package vm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"
)

func TestWithinContextEndsWithIt(t *testing.T) {
	for name, body := range map[string]string{
		"a loop":                  `while true do end`,
		"a loop that catches":     `while true do pcall(spin) end`,
		"a longer deadline in it": `with(1e6, spin)`,
		"a wait":                  `wait()`,
		"a wait under a deadline": `with(1e6, wait)`,
		"a coroutine":             `coroutine.resume(coroutine.create(spin))`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, Config{Limits: Limits{Timeout: 10 * time.Second}})
				expired := false
				m.Globals().RawSetString("stoppable", NewFunction(func(L *lua.LState) int {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(50*time.Millisecond, cancel)
					r := Of(L).WithinContext(L, ctx, 1, 0)
					expired = r.Expired
					return r.Finish(L)
				}))
				m.Globals().RawSetString("wait", NewFunction(func(L *lua.LState) int {
					ctx := Of(L).Context()
					defer ctx.Stop()
					<-ctx.Done()
					Of(L).CheckInterrupt()
					return 0
				}))
				m.expect("deadline exceeded and on", spin+`
					local _, e = pcall(stoppable, function() `+body+` end)
					return e .. " and on"`)
				if !expired || m.Interrupt() != nil {
					t.Errorf("expired %t, and the run is interrupted by %v", expired, m.Interrupt())
				}
				m.expect("9", `return stoppable(function() return 9 end)`)
			})
		})
	}
}
