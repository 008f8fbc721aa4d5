package lualib

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// unbounded holds, for each function that can take long, calls that do. big is a
// text of 8 MiB, list a table of 200,000 numbers, more one with 200,000 keys
// that are strings; few and fewWords are tables of 2,000 numbers and texts, short
// enough to be read within the limit.
var unbounded = map[string][]string{
	"load":           {`load(math.random)`, `load(function() return " " end)`},
	"loadstring":     {`loadstring(big)`},
	"string.find":    {`big:find("b")`, `big:find("b", 1, true)`, `big:find("[b]")`, `big:find(".-.-b")`, `big:find("%f[b]")`, `("x"):find(big .. ".")`, `(big .. "b"):find(("a"):rep(1e5) .. "b")`},
	"string.format":  {`string.format("%s", big)`, `string.format("%q", big)`, `string.format(big)`, `string.format(("%%"):rep(100000))`},
	"string.gmatch":  {`big:gmatch("[b]")()`, `for _ in big:gmatch(".") do end`},
	"string.gsub":    {`big:gsub("a", "b")`, `big:gsub("[b]", "")`, `big:gsub("a", {})`, `big:gsub("a", string.upper)`, `("x"):gsub("x", big .. "%0")`, `("x"):gsub("x", ("%%"):rep(100000))`, `big:gsub("", "")`},
	"string.lower":   {`big:lower()`},
	"string.match":   {`big:match("^(.*)(.*)b")`, `big:match("^[ab]*$")`, `(big .. "("):match("%b()")`, `big:match("(a*)%1b")`},
	"string.rep":     {`("x"):rep(1e7)`, `big:rep(7)`},
	"string.reverse": {`big:reverse()`},
	"string.upper":   {`big:upper()`},
	"table.concat":   {`table.concat(list)`, `table.concat({"", ""}, big)`, `table.concat({big, big})`},
	"table.insert":   {`for i = 1, 1e6 do table.insert(list, 1, 0) end`, `table.insert(list, -1e6, 0)`},
	"table.maxn":     {`table.maxn(more)`},
	"table.remove":   {`for i = 1, 1e6 do table.remove(list, 1) end`},
	"table.sort":     {`table.sort(list)`, `table.sort(few)`, `table.sort(fewWords)`, `table.sort(few, rawequal)`, `table.sort(few, function(a, b) return a > b end)`},
	"os.date":        {`os.date(big)`, `os.date(("%%"):rep(100000))`},
	"tostring":       {`for i = 1, 1e6 do tostring({}) end`},
}

// bounded holds the functions whose work is bounded for any argument, or is one
// call of something else. Those of coroutine, debug and the protected calls are
// tested elsewhere.
const bounded = `assert collectgarbage error getfenv getmetatable ipairs next pairs rawequal rawget rawset select setfenv
	setmetatable tonumber type unpack pcall xpcall
	string.byte string.char string.len string.sub table.getn os.clock os.difftime os.time`

func TestFunctionsAreKnownToBeBoundedOrUnbounded(t *testing.T) {
	known := map[string]bool{}
	for name := range unbounded {
		known[name] = true
	}
	for _, name := range strings.Fields(bounded) {
		known[name] = true
	}
	for name, v := range functionsOf(newRun(t, vm.Limits{}).Globals(), "") {
		if v && !known[name] && !strings.HasPrefix(name, "math.") && !strings.HasPrefix(name, "coroutine.") && !strings.HasPrefix(name, "debug.") {
			t.Errorf("%s is neither in unbounded nor in bounded", name)
		}
	}
}

// functionsOf returns the names of the functions in a table and its tables.
func functionsOf(t *lua.LTable, prefix string) map[string]bool {
	names := map[string]bool{}
	vm.Materialize(t)
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		name := prefix + key.String()
		switch v := value.(type) {
		case *lua.LFunction:
			names[name] = true
		case *lua.LTable:
			if key != lua.LString("_G") {
				for name := range functionsOf(v, name+".") {
					names[name] = true
				}
			}
		}
	}
	return names
}

// bigValues makes the globals that unbounded uses, once for all runs.
var bigValues = sync.OnceValue(func() map[string]lua.LValue {
	list, more, few, fewWords := newTable(), newTable(), newTable(), newTable()
	for i := range 200_000 {
		n := lua.LNumber(i * 7919 % 200_003)
		list.Append(n)
		more.RawSetString(n.String(), n)
		if i < 2000 {
			few.Append(n)
			fewWords.Append(lua.LString(n.String()))
		}
	}
	return map[string]lua.LValue{
		"big": lua.LString(strings.Repeat("a", 8<<20)), "list": list, "more": more, "few": few, "fewWords": fewWords}
})

func newTable() *lua.LTable { return &lua.LTable{Metatable: lua.LNil} }

func withBigValues(run *vm.Run) {
	for name, v := range bigValues() {
		run.Globals().RawSetString(name, v)
	}
}

func TestUnboundedFunctionsAreInterrupted(t *testing.T) {
	const instructions = 5000
	for name, scripts := range unbounded {
		for _, script := range scripts {
			run := newRun(t, vm.Limits{Instructions: instructions})
			withBigValues(run)
			began := time.Now()
			_, err := eval(t, run, statement(script))
			took := time.Since(began)
			if in := run.Interrupt(); err == nil || in == nil || in.Cause != vm.Instructions {
				t.Errorf("%s: %s ran on (error %v, %d steps)", name, script, err, run.Steps())
			}
			// What loadstring counts afterwards bounds how often it is called.
			if over := run.Steps() - instructions; over > 20_000 && name != "loadstring" {
				t.Errorf("%s: %s overshot its limit by %d steps (%v)", name, script, over, took)
			}
		}
	}
}

func TestResultsAreChargedBeforeTheyAreMade(t *testing.T) {
	for _, script := range []string{
		`("x"):rep(1e9)`, `("x"):rep(2^50)`, `("x"):rep(1e308)`, `big:rep(2)`,
		`big:upper()`, `big:lower()`, `big:reverse()`,
		`big:gsub("a", "bb")`, `big:gsub("^", big)`,
		`string.format("%s%s", big, big)`, `string.format("%q", big)`,
		`table.concat({1, 2}, big)`, `table.concat({big, big})`,
		`load(function() return big end)`,
		`os.date(big .. "%c")`,
		`("x"):find("x" .. big .. ".")`,
		`table.sort(list)`,
	} {
		run := newRun(t, vm.Limits{MemoryBytes: 2 << 20})
		withBigValues(run)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := eval(t, run, statement(script))
		runtime.ReadMemStats(&after)
		if in := run.Interrupt(); err == nil || in == nil || in.Cause != vm.Memory {
			t.Errorf("%s ran on (error %.80v)", script, err)
		}
		// Concatenations of the script itself take 16 MiB.
		if made := after.TotalAlloc - before.TotalAlloc; made > 24<<20 {
			t.Errorf("%s made %d bytes", script, made)
		}
	}
}

func TestStringsHaveALargestSizeWithoutALimit(t *testing.T) {
	check(t, []example{
		{`pcall(string.rep, "x", 2^50)`, `false "resulting string too large"`},
		{`pcall(string.rep, "x", 1e308)`, `false "resulting string too large"`},
	})
}

func TestTableCountsMovedElements(t *testing.T) {
	for script, moved := range map[string]int64{
		`table.insert(list, 1, 0)`:             190_000,
		`table.remove(list, 1)`:                190_000,
		`table.insert(list, #list - 10000, 0)`: 10_000, // at once
		`table.remove(list, #list - 10000)`:    10_000,
	} {
		run := newRun(t, vm.Limits{})
		withBigValues(run)
		do(t, run, statement(script))
		if got, want := run.Steps(), moved/elementsPerStep; got < want {
			t.Errorf("%s: got %d steps, want at least %d", script, got, want)
		}
	}
}
