package main

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/logmodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// runComparisons compare a whole run of a trivial script, fresh state included,
// with creating a state of gopher-lua that runs nothing.
func runComparisons() []comparison {
	return []comparison{{
		name: "trivial script", goal: "at most 0.25x, under 32 KiB",
		contenders: []contender{
			{"lua.NewState", func() (func(int), func()) {
				return func(n int) {
					for range n {
						lua.NewState().Close()
					}
				}, func() {}
			}},
			{tidelock, func() (func(int), func()) {
				engine := newEngine(nil, nil, nil)
				inv := runtime.Invocation{Tenant: "bench", Script: "trivial.lua", Source: "return 42", Log: discard{}}
				return func(n int) {
					for range n {
						if r := engine.Run(context.Background(), inv); r.Error != nil {
							panic(r.Error)
						}
					}
				}, func() {}
			}},
		},
	}}
}

// newEngine returns an engine with the modules that need no store, with
// native.lock over table, whose time is tableTime, and with more modules. table
// may be nil, and then clk and tableTime may be nil too.
func newEngine(clk *clock.Dual, table lock.Table, tableTime lock.TableTime, more ...native.Module) *runtime.Engine {
	if clk == nil {
		clk = clock.NewDual(clock.System())
	}
	locks := must(lock.New(clk, table, tableTime, lock.Options{}))
	return runtime.New(runtime.Config{
		Clock: clk, HostKind: "bench", HostName: "bench",
		Modules: append([]native.Module{
			coremodule.New(), deadlinemodule.New(), jsonmodule.New(), lockmodule.New(locks, lockmodule.Options{}), logmodule.New(),
		}, more...),
	})
}

// discard discards log records.
type discard struct{}

func (discard) Log(string, string, value.Map) {}
