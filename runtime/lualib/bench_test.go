package lualib

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// uses are common uses of the library. Each is the body of a loop; text is a
// kilobyte of words, csv a line of 20 fields, list a table of 100 numbers.
var uses = []struct{ name, body string }{
	{"find text", `text:find("needle", 1, true)`},
	{"find pattern", `text:find("(%w+) needle")`},
	{"match key and value", `("  key = value"):match("^%s*(%w+)%s*=%s*(%w+)$")`},
	{"match number", `("id-12345"):match("%d+")`},
	{"trim", `("   some text here   "):match("^%s*(.-)%s*$")`},
	{"split by gmatch", `for field in csv:gmatch("[^,]+") do local _ = field end`},
	{"gsub text", `text:gsub("o", "0")`},
	{"gsub captures", `text:gsub("(%w+) (%w+)", "%2 %1")`},
	{"gsub function", `csv:gsub("%d+", function(s) return s .. "!" end)`},
	{"gsub table", `text:gsub("%w+", {the = "THE"})`},
	{"format", `string.format("%s has %d of %5.2f", "name", 42, 3.14159)`},
	{"upper", `text:upper()`},
	{"sub and byte", `for i = 1, 20 do local _ = csv:sub(i, i), csv:byte(i) end`},
	{"concat", `table.concat(list, ",")`},
	{"insert and remove", `local t = {} for i = 1, 20 do table.insert(t, i) end for i = 1, 20 do table.remove(t) end`},
	{"sort numbers", `local t = {} for i = 1, 100 do t[i] = list[i] end table.sort(t)`},
	{"sort by function", `local t = {} for i = 1, 50 do t[i] = list[i] end table.sort(t, function(a, b) return a > b end)`},
	{"pairs", `for k, v in pairs(list) do local _ = v end`},
	{"ipairs", `for i, v in ipairs(list) do local _ = v end`},
	{"tostring and tonumber", `tonumber(tostring(12.5))`},
	{"math", `math.floor(math.max(1.5, 2.5, math.abs(-3)))`},
}

// BenchmarkUses runs both libraries alternately, so that other load on the
// machine affects both, and reports the ratio of their best times.
func BenchmarkUses(b *testing.B) {
	for _, use := range uses {
		b.Run(use.name, func(b *testing.B) {
			plain := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System())})
			defer plain.Close()
			for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath} {
				open(plain.Thread())
			}
			measure, measurePlain := prepare(b, newRun(b, vm.Limits{}), use.body), prepare(b, plain, use.body)
			best, bestPlain := measure(), measurePlain()
			for b.Loop() {
				best, bestPlain = min(best, measure()), min(bestPlain, measurePlain())
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best.Nanoseconds())/usesPerRound, "ns/use")
			b.ReportMetric(float64(best)/float64(bestPlain), "of-gopher-lua")
		})
	}
}

// usesPerRound is how often a use is repeated in one measurement.
const usesPerRound = 20

// prepare returns a function that runs body usesPerRound times and returns the
// time that took.
func prepare(b *testing.B, run *vm.Run, body string) func() time.Duration {
	list := newTable()
	for i := range 100 {
		list.Append(lua.LNumber(i * 37 % 101))
	}
	g := run.Globals()
	g.RawSetString("list", list)
	g.RawSetString("text", lua.LString(strings.Repeat("the quick brown fox jumps over the lazy dog, ", 20)+"the needle in the haystack"))
	g.RawSetString("csv", lua.LString(strings.TrimSuffix(strings.Repeat("alpha,12,beta,", 10), ",")))
	source := fmt.Sprintf("for round = 1, %d do %s end", usesPerRound, body)
	proto, err := compiler.Compile(context.Background(), "bench", source)
	if err != nil {
		b.Fatal(err)
	}
	fn := run.Thread().NewFunctionFromProto(proto)
	return func() time.Duration {
		began := time.Now()
		if _, failure := run.Call(fn); failure != nil {
			b.Fatal(failure)
		}
		return time.Since(began)
	}
}

func BenchmarkOpen(b *testing.B) {
	lib := New(compiler.Compile)
	clk := clock.NewDual(clock.System())
	b.Run("a run alone", func(b *testing.B) {
		for b.Loop() {
			vm.NewRun(vm.Config{Clock: clk}).Close()
		}
	})
	b.Run("a run with the library", func(b *testing.B) {
		for b.Loop() {
			run := vm.NewRun(vm.Config{Clock: clk})
			lib.Open(run.Thread())
			run.Close()
		}
	})
}

func TestOpenAllocatesLittle(t *testing.T) {
	lib := New(compiler.Compile)
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System())})
	defer run.Close()
	lib.Open(run.Thread())
	if got := testing.AllocsPerRun(100, func() { lib.Open(run.Thread()) }); got > 30 {
		t.Errorf("got %v allocations, want at most 30", got)
	}
}
