package main

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// programs are seven kinds of script, whose speed depends on different parts
// of the interpreter.
var programs = []struct{ name, source string }{
	{"while", `local i = 0 while i < 200000 do i = i + 1 end`},
	{"calls", `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end fib(20)`},
	{"array", `local t = {} for i = 1, 20000 do t[i] = i end local s = 0 for i = 1, #t do s = s + t[i] end`},
	{"fields", `local p = {x = 0, y = 0} for i = 1, 30000 do p.x = p.x + 1 p.y = p.y - p.x end`},
	{"closures", `local function counter() local n = 0 return function() n = n + 1 return n end end
		for i = 1, 2000 do local c = counter() for j = 1, 10 do c() end end`},
	{"strings", `local s = 0 for i = 1, 10000 do local k = "key" .. i s = s + #k end`},
	{"iteration", `local t = {} for i = 1, 2000 do t["k" .. i] = i end local s = 0
		for r = 1, 10 do for k, v in pairs(t) do s = s + v end end`},
}

// hook measures the programs and their geometric means.
func hook(b *bench) error {
	var rows [][]string
	var names []string
	ratios := map[string][]float64{}
	for _, c := range hookComparisons() {
		results := b.measure(c)
		rows = append(rows, c.rows(results)...)
		names = names[:0]
		for i, m := range results {
			name := c.contenders[i].name
			names = append(names, name)
			ratios[name] = append(ratios[name], float64(m.least)/float64(results[0].least))
		}
	}
	for _, name := range names[1:] {
		mean := []string{"geometric mean", name, "", "", "", fmt.Sprintf("%.2fx", geometricMean(ratios[name])), ""}
		if name == tidelock {
			mean[6] = "at most 1.2x, and below the other"
		}
		rows = append(rows, mean)
	}
	b.table(comparisonHeader, rows)
	return nil
}

// hookComparisons compare the interpreter alone, under a context with a timeout,
// and in a run with its hook, clocks and scheduler.
func hookComparisons() []comparison {
	var out []comparison
	for _, p := range programs {
		out = append(out, comparison{
			name: p.name, goal: "at most 1.5x",
			contenders: []contender{
				{"gopher-lua", gopherLuaProgram(p.source, nil)},
				{"context.WithTimeout", gopherLuaProgram(p.source, func(L *lua.LState) func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
					L.SetContext(ctx)
					return cancel
				})},
				{tidelock, tidelockProgram(p.source)},
			},
		})
	}
	return out
}

// tidelock is the name of tidelock among contenders.
const tidelock = "tidelock"

// gopherLuaProgram runs source on a plain state of gopher-lua.
func gopherLuaProgram(source string, prepare func(*lua.LState) func()) func() (func(int), func()) {
	return func() (func(int), func()) {
		L := lua.NewState()
		stop := func() {}
		if prepare != nil {
			stop = prepare(L)
		}
		return repeat(L, source), func() { stop(); L.Close() }
	}
}

// tidelockProgram runs source on the thread of a run.
func tidelockProgram(source string) func() (func(int), func()) {
	return func() (func(int), func()) {
		run := vm.NewRun(vm.Config{
			Clock: clock.NewDual(clock.System()), Memory: vm.NewMemoryWatcher(0),
			Limits: vm.Limits{Timeout: time.Hour, MemoryBytes: 128 << 20},
		})
		L := run.Thread()
		lua.OpenBase(L)
		return repeat(L, source), run.Close
	}
}

func repeat(L *lua.LState, source string) func(int) {
	fn := must(L.LoadString(source))
	return func(n int) {
		for range n {
			L.Push(fn)
			L.Call(0, 0)
		}
	}
}
