package main

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// callComparisons compare our protected calls and coroutines with
// gopher-lua's own.
func callComparisons() []comparison {
	compare := func(name, goal, setup, body string) comparison {
		return comparison{name: name, goal: goal, contenders: []contender{
			{"gopher-lua", luaLoop(setup, body)},
			{tidelock, tidelockLoop(nil, nil, setup, body)},
		}}
	}
	return []comparison{
		compare("pcall", "1.6x, as in the first prototype", `local f = function() end`, `pcall(f)`),
		compare("pcall of an error", "1.7x", `local f = function() error("x") end`, `pcall(f)`),
		compare("coroutine switch", "1.3x", `local co = coroutine.wrap(function() while true do coroutine.yield() end end)`, `co()`),
		compare("coroutine create and resume", "0.2x", `local f = function() end`, `coroutine.resume(coroutine.create(f))`),
		compare("string.find", "at most 1x", `local s = ("a"):rep(100) .. "b"`, `s:find("[^a]b?")`),
	}
}

// loop returns a program whose function runs body n times.
func loop(setup, body string) string {
	return setup + "\nreturn function(n) for i = 1, n do " + body + " end end"
}

// luaLoop runs body in a loop on a plain state of gopher-lua.
func luaLoop(setup, body string) func() (func(int), func()) {
	return func() (func(int), func()) {
		L := lua.NewState()
		if err := L.DoString(loop(setup, body)); err != nil {
			panic(err)
		}
		fn := L.Get(-1)
		return func(n int) {
			L.Push(fn)
			L.Push(lua.LNumber(n))
			L.Call(1, 0)
		}, L.Close
	}
}

// tidelockLoop runs body in a loop, in a run of an engine.
func tidelockLoop(clk *clock.Dual, table lock.Table, setup, body string) func() (func(int), func()) {
	return func() (func(int), func()) {
		engine := newEngine(clk, table, lock.MachineClock{})
		inv := runtime.Invocation{
			Tenant: "bench", Script: "loop.lua", Source: loop(setup, body), Log: discard{},
			Limits: tenant.Limits{Timeout: 1 << 40, DataOps: 1 << 40},
		}
		return func(n int) {
			inv.Event = float64(n)
			if r := engine.Run(context.Background(), inv); r.Error != nil {
				panic(r.Error)
			}
		}, func() {}
	}
}
