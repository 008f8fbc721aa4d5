package lualib

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// example is one script and what it must return.
type example struct{ script, want string }

// check runs each script in a run of its own.
func check(t *testing.T, cases []example) {
	t.Helper()
	for _, c := range cases {
		run := newRun(t, vm.Limits{Instructions: 10_000_000})
		if got := do(t, run, statement(c.script)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.script, got, c.want)
		}
	}
}

func TestFunctionsAreRightWhereGopherLuasAreWrong(t *testing.T) {
	check(t, []example{
		{`math.huge == 1/0`, "true"},
		{`tonumber("1e5"), tonumber("2e2"), tonumber("5e-07")`, "100000 200 4.9999999999999998e-07"},
		{`tonumber("010"), tonumber("1_000"), tonumber("0b11"), tonumber("inf"), tonumber("nan")`, "10 nil nil nil nil"},
		{`string.format("%s", setmetatable({}, {__tostring = function() return "TS" end}))`, `"TS"`},
		{`string.format("%s %s", nil, true)`, `"nil true"`},
		{`string.format("%5.2q", "x")`, `""x""`},
		{`string.format("%d")`, "error: bad argument #2 to 'format' (number expected, got no value)"},
		{`string.format("%v", 1)`, "error: invalid option '%v' to 'format'"},
		{`string.format("%[1]d", 1)`, "error: invalid option '%[' to 'format'"},
		{`string.format("%999999d", 1)`, "error: invalid format (width or precision too long)"},
		{`string.format("%*d", 5, 1)`, "error: invalid option '%*' to 'format'"},
		{`string.format("%d", {})`, "error: bad argument #2 to 'format' (number expected, got table)"},
		{`("abc"):find("b", 10, true)`, "nil"},
		{`("THE (quick) fox"):find("%f[%a]%a+")`, "1 3"},
		{`("abc"):gsub("", "-")`, `"-a-b-c-" 4`},
		{`("abc"):gsub(".", {a = "1", b = true})`, "error: invalid replacement value (a boolean)"},
		{`table.remove({})`, ""},
		{`local t = {1, 2, 3} t[3] = nil return table.remove(t), #t`, "2 1"},
		{`local t = {1, 2, 3, 4, 5} for i = 1, 5 do t[i] = nil end table.insert(t, 7) return #t, t[1]`, "1 7"},
		{`rawset({}, "a", 1).a`, "1"},
		{`select(-1, 1, 2, 3)`, "3"},
		{`setmetatable(5, {})`, "error: bad argument #1 to 'setmetatable' (table expected, got number)"},
		{`setmetatable(print or type, {})`, "error: bad argument #1 to 'setmetatable' (table expected, got function)"},
		{`pcall(error)`, "false nil"},
		{`table.maxn({1, 2, [10.5] = 1, [-3] = 1})`, "10.5"},
		{`os.date("!%Y-%m-%dT%H:%M:%S", 0), os.date("!*t", 86400 * 59).yday`, `"1970-01-01T00:00:00" 60`},
		{`type(collectgarbage("count")), collectgarbage()`, `"number" 0`},
		{`("x"):lower(), ("ÀÉ"):upper()`, `"x" "\195\128\195\137"`},
		{`local e = {code = 7} return select(2, pcall(assert, false, e)) == e`, "true"},
	})
}

func TestNumbersBeyondIntegersAreSafe(t *testing.T) {
	check(t, []example{
		{`#("x"):rep(-1e308), #("x"):rep(0/0), #(""):rep(1e308)`, "0 0 0"},
		{`("abc"):sub(2, 1e308), ("abc"):sub(-1e308, 2), ("abc"):sub(2^31), ("abc"):sub(1/0), ("abc"):sub(0/0)`, `"bc" "ab" "" "" "abc"`},
		{`select("#", ("abc"):byte(1e308)), ("abc"):byte(-1e308, 1e308)`, "0 97 98 99"},
		{`("abc"):find("b", -1e308), ("abc"):find("b", 1e308)`, "2 nil"},
		{`select("#", unpack({}, 1, 1e308))`, "error: too many results to unpack"},
		{`select("#", unpack({}, -1e308, 1e308))`, "error: too many results to unpack"},
		{`select("#", unpack({}, 1e308, 1)), select("#", unpack({}, 0/0, 0))`, "0 1"},
		{`select(1e308, 1, 2)`, ""},
		{`select(0/0, 1, 2)`, "error: bad argument #1 to 'select' (index out of range)"},
		{`string.char(1e308)`, "error: bad argument #1 to 'char' (invalid value)"},
		{`string.format("%d", 2^63)`, "error: bad argument #2 to 'format' (number out of range)"},
		{`string.format("%d", 0/0)`, "error: bad argument #2 to 'format' (number out of range)"},
		{`string.format("%x %u", -1, 2^63), string.format("%d", -2^63)`, `"ffffffffffffffff 9223372036854775808" "-9223372036854775808"`},
		{`string.format("%c", 321)`, `"A"`},
		{`string.format("%5.1f|%g|%g", 1/0, -1/0, 0/0)`, `"  inf|-inf|nan"`},
		{`tostring(2^53), tostring(1e15), tostring(2^63), tostring(1e300), tostring(-0), tostring(1/3)`,
			`"9007199254740992" "1000000000000000" "9.2233720368548e+18" "1e+300" "0" "0.33333333333333"`},
		{`math.ldexp(1, 1e308), math.ldexp(1, -1e308), math.ldexp(1, 0/0)`, "inf 0 1"},
		{`math.random(2^53) <= 2^53`, "true"},
		{`math.random(-2^53, 2^53) <= 2^53`, "true"},
		{`table.concat({}, "", 1e308, 1), #table.concat({1}, ",", 1, 1)`, `"" 1`},
		{`table.concat({}, "", 1, 1e308)`, "error: invalid value (nil) at index 1 in table for 'concat'"},
		{`local t = {} table.insert(t, 1e308, 1) return t[1e308], t[2^53]`, "nil 1"},
		{`table.remove({1, 2}, 1e308)`, ""},
		{`os.date("!%Y", 1e300), os.date("!%Y", 0/0), os.date("!%Y", -1e10)`, `nil nil "1653"`},
		{`os.time({year = 1e300, month = 1, day = 1})`, "error: field 'year' out of range in date table"},
		{`tonumber("7", 1e308)`, "error: bad argument #2 to 'tonumber' (base out of range)"},
		{`pcall(error, "m", 1e308)`, `false "m"`},
		{`getfenv(1e308)`, "error: bad argument #1 to 'getfenv' (invalid level)"},
	})
}

func TestErrorHasThePositionOfItsLevel(t *testing.T) {
	source := "local function f(level) error('m', level) end\n" +
		"local function g(level) f(level)\nend\n" +
		"local out = {}\n" +
		"for level = 0, 3 do\nlocal ok, e = pcall(function()\ng(level)\nreturn end) out[#out + 1] = e end\n" +
		"return unpack(out)"
	run := newRun(t, vm.Limits{})
	if got, want := do(t, run, source), `"m" "test:1: m" "test:2: m" "test:7: m"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	check(t, []example{
		{`select(2, pcall(error, 12))`, `"12"`},
		{`local e = {} return select(2, pcall(error, e)) == e`, "true"},
		{`select(2, pcall(assert, false, "why"))`, `"why"`},
		{`local e = {} return select(2, pcall(assert, nil, e)) == e`, "true"},
		{`select(2, pcall(string.rep))`, `"bad argument #1 to 'rep' (string expected, got no value)"`},
	})
}

func TestStringMetatableIsOutOfReach(t *testing.T) {
	check(t, []example{
		{`getmetatable("")`, "false"},
		{`pcall(function() getmetatable("").__index = function() return "x" end end)`, `false "test:1: attempt to index a boolean value"`},
		{`string.__index`, "nil"},
		{`string.shout = function(s) return s:upper() .. "!" end return ("a"):shout()`, `"A!"`},
		{`string.upper = nil return pcall(function() return ("a"):upper() end)`, `false "test:1: attempt to call method 'upper' (a nil value)"`},
		{`("x").len == string.len, ("x").y`, "true nil"},
	})
}

func TestLibraryThatARunChangesIsItsOwn(t *testing.T) {
	lib := New(compiler.Compile)
	open := func() *vm.Run {
		run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System())})
		t.Cleanup(run.Close)
		lib.Open(run.Thread())
		return run
	}
	first, second := open(), open()
	do(t, first, `string.upper = nil math.pi = 3 table.concat = type string.sub = function() return "mine" end next = nil _VERSION = nil`)
	if got, want := do(t, second, `return ("a"):upper(), math.pi > 3.1, table.concat({1, 2}), ("abc"):sub(1, 1), next({}), _VERSION`), `"A" true "12" "a" nil "Lua 5.1"`; got != want {
		t.Errorf("the other run: got %s, want %s", got, want)
	}
}

func TestLibraryIsSharedWithoutARace(t *testing.T) {
	lib := New(compiler.Compile)
	const script = `
		for k in pairs(string) do end
		math.randomseed(1)
		local t = {} for i = 1, 50 do t[i] = math.random(100) end
		table.sort(t, function(a, b) return a > b end)
		local s = table.concat(t, ","):gsub("%d+", tostring):upper()
		string.extra = s
		return tostring(t), tostring(print or type), #s, os.date("!%c", 0), loadstring("return 1")()`
	var wg sync.WaitGroup
	results := make([]string, 4)
	for i := range results {
		wg.Go(func() {
			run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System())})
			defer run.Close()
			lib.Open(run.Thread())
			results[i] = do(t, run, script)
		})
	}
	wg.Wait()
	for _, a := range results[1:] {
		if a != results[0] {
			t.Errorf("got %s and %s", a, results[0])
		}
	}
}

func TestLibrariesHideThatTheyAreLazy(t *testing.T) {
	check(t, []example{
		{`next(string)`, `"byte" function`},
		{`local n = 0 for k in pairs(math) do n = n + 1 end return n`, "31"},
		{`type(rawget(table, "concat"))`, `"function"`},
		{`rawset(table, "concat", 1).insert ~= nil, table.concat`, "true 1"},
		{`getmetatable(os)`, "nil"},
		{`setmetatable(string, {__index = function() return "mine" end}) return type(string.upper), string.other`, `"function" "mine"`},
		{`local t = setmetatable({}, math) return getmetatable(t) == math, t.pi`, "true nil"},
		{`setmetatable({}, {__index = math}).pi > 3`, "true"},
		{`string.x = 1 return type(string.upper), string.x`, `"function" 1`},
		{`pcall(function() string[nil] = 1 end)`, `false "test:1: table index is nil"`},
		{`#string, table.getn(math), table.maxn(os)`, "0 0 0"},
		{`table.insert(math, 7) return #math, type(math.floor)`, `1 "function"`},
		{`("upper"):gsub("upper", string)`, "error: invalid replacement value (a function)"},
		{`tostring(string) == tostring(string), string == string, string == table`, "true true false"},
	})
}

func TestLazyTableServesAsAMetatable(t *testing.T) {
	run := newRun(t, vm.Limits{})
	class := vm.NewLazy(func(t *lua.LTable) {
		t.RawSetString("__tostring", vm.NewFunction(func(L *lua.LState) int {
			L.Push(lua.LString("an object"))
			return 1
		}))
	})
	run.Globals().RawSetString("class", class.Table())
	if got, want := do(t, run, "return tostring(setmetatable({}, class))"), `"an object"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClockCountsFromTheStartOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewDual(clock.System())
		time.Sleep(time.Hour)
		run := vm.NewRun(vm.Config{Clock: clk})
		defer run.Close()
		New(compiler.Compile).Open(run.Thread())
		time.Sleep(1500 * time.Millisecond)
		if got, want := do(t, run, "return os.clock(), os.time(), os.date()"), `1.5 946688401 "Sat Jan  1 01:00:01 2000"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestIdentitiesAreNumbersNotAddresses(t *testing.T) {
	check(t, []example{
		{`local a, b = {}, {} return tostring(a), tostring(b), tostring(a)`, `"table: 0x00000001" "table: 0x00000002" "table: 0x00000001"`},
		{`tostring(type), string.format("%s", tostring)`, `"function: 0x00000001" "function: 0x00000002"`},
		{`tostring(coroutine.create(type))`, `"thread: 0x00000001"`},
	})
	run := newRun(t, vm.Limits{})
	secret := &lua.LUserData{Value: map[string]string{"password": "s3cr3t"}, Metatable: lua.LNil}
	run.Globals().RawSetString("secret", secret)
	if got, want := do(t, run, `return tostring(secret), string.format("%s|%10.3s", secret, secret)`), `"userdata: 0x00000001" "userdata: 0x00000001|       use"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIdentitiesKeepNothingAlive(t *testing.T) {
	run := newRun(t, vm.Limits{})
	do(t, run, `for i = 1, 20000 do tostring({}) end`)
	runtime.GC()
	do(t, run, `for i = 1, 20000 do tostring({}) end`)
	runtime.GC()
	tables := &stateOf(run).identities.tables
	tables.sweepAt = 0
	before := run.Steps()
	do(t, run, `return tostring({})`)
	if got := run.Steps() - before; got < 1000 {
		t.Errorf("a sweep took %d steps only", got)
	}
	if got := len(tables.numbers); got > 100 {
		t.Errorf("%d numbers are kept of tables that are gone", got)
	}
}

func TestRandomNumbersAreEachRunsOwn(t *testing.T) {
	const draw = `local t = {} for i = 1, 8 do t[i] = math.random(1000000) end return table.concat(t, ",")`
	a, b := newRun(t, vm.Limits{}), newRun(t, vm.Limits{})
	if x, y := do(t, a, draw), do(t, b, draw); x == y {
		t.Errorf("two runs drew the same: %s", x)
	}
	x, y := do(t, a, "math.randomseed(42) "+draw), do(t, b, "math.randomseed(42) "+draw)
	if want := `"341962,350671,817604,313831,803200,39650,541284,759280"`; x != y || x != want {
		t.Errorf("seeded with 42: got %s and %s, want %s", x, y, want)
	}
	check(t, []example{
		{`math.random(0)`, "error: bad argument #1 to 'random' (interval is empty)"},
		{`math.random(2, 1)`, "error: bad argument #2 to 'random' (interval is empty)"},
		{`math.random(1, 2, 3)`, "error: wrong number of arguments"},
		{`local r = math.random() return r >= 0 and r < 1, math.random(1), math.random(-3, -3)`, "true 1 -3"},
	})
}

func TestEnvironmentsBelongToLuaFunctions(t *testing.T) {
	check(t, []example{
		{`local f = loadstring("x = 1 return y") local e = {y = 2} return setfenv(f, e) == f, f(), e.x, x`, "true 2 1 nil"},
		{`getfenv(1) == _G, getfenv() == _G, getfenv(function() end) == _G`, "true true true"},
		{`local function f() setfenv(1, {v = 5}) return v end return f()`, "5"},
		{`getfenv(type)`, "error: bad argument #1 to 'getfenv' (a library function has no environment)"},
		{`setfenv(type, {})`, "error: 'setfenv' cannot change environment of given object"},
		{`setfenv(0, {})`, "error: bad argument #1 to 'setfenv' (invalid level)"},
		{`setfenv(50, {})`, "error: bad argument #1 to 'setfenv' (invalid level)"},
		{`setfenv(-1, {})`, "error: bad argument #1 to 'setfenv' (level must be non-negative)"},
		{`setfenv(1)`, "error: bad argument #2 to 'setfenv' (table expected, got no value)"},
	})
}

func TestLoadReadsInChunks(t *testing.T) {
	check(t, []example{
		{`local parts, i = {"return ", 4, "2"}, 0 return load(function() i = i + 1 return parts[i] end)()`, "42"},
		{`load(function() end)()`, ""},
		{`load(function() return {} end)`, `nil "reader function must return a string"`},
		{`local n, err = load(function() error("of the reader", 0) end) return n, err`, `nil "of the reader"`},
		{`load(1)`, "error: bad argument #1 to 'load' (function expected, got number)"},
		{`loadstring("return ...")(1, 2)`, "1 2"},
		{`select(2, loadstring("x x", "=name")):sub(1, 5)`, `"name:"`},
		{`loadstring("error('m', 1)", "@file")`, "function"},
		{`pcall(loadstring("\nerror('m', 1)", "@file"))`, `false "file:2: m"`},
		{`pcall(loadstring("error('m', 1)\nreturn"))`, `false "[string "error('m', 1)..."]:1: m"`},
		{`pcall(loadstring("error('m', 1)"))`, `false "[string "error('m', 1)"]:1: m"`},
	})
	for name, want := range map[string]string{
		"=":                           "",
		"=" + strings.Repeat("n", 99): strings.Repeat("n", chunkNameMax),
		"@" + strings.Repeat("n", 99): "..." + strings.Repeat("n", chunkNameMax-3),
		strings.Repeat("n", 99):       `[string "` + strings.Repeat("n", chunkNameMax-14) + `..."]`,
	} {
		if got := chunkName(name); got != want {
			t.Errorf("chunkName(%q): got %q, want %q", name, got, want)
		}
	}
}

func TestSortLeavesTheTableAloneWhenItFails(t *testing.T) {
	check(t, []example{
		{`local t = {3, 1, "x", 2} local ok = pcall(table.sort, t) return ok, t[1], t[2], t[3], t[4]`, `false 3 1 "x" 2`},
		{`local t = {3, 1, 2} local ok, e = pcall(table.sort, t, function() error("no", 0) end) return ok, e, t[1]`, `false "no" 3`},
		{`local t = {} for i = 1, 500 do t[i] = i end table.sort(t, function() return true end) return #t`, "500"},
		{`local t = {5, 2, 8, 1} table.sort(t, function(a, b) return a > b end) return unpack(t)`, "8 5 2 1"},
		{`local m = {__lt = function(a, b) return a.v < b.v end} local t = {} for i, v in ipairs{3, 1, 2} do t[i] = setmetatable({v = v}, m) end table.sort(t) return t[1].v, t[2].v, t[3].v`, "1 2 3"},
	})
}

func TestCallbacksMayYield(t *testing.T) {
	check(t, []example{
		{`local co = coroutine.wrap(function() return ("abc"):gsub(".", coroutine.yield) end) return co(), co("1"), co("2"), co("3")`, `"a" "b" "c" "123" 3`},
		{`local co = coroutine.wrap(function() local t = {2, 1} table.sort(t, function(a, b) coroutine.yield("cmp") return a < b end) return t[1] end) local r repeat r = co() until r ~= "cmp" return r`, "1"},
		{`local co = coroutine.wrap(function() return tostring(setmetatable({}, {__tostring = function() return coroutine.yield("y") end})) end) return co(), co("text")`, `"y" "text"`},
		{`local co = coroutine.wrap(function() return load(coroutine.yield) end) co() co("return ") co("7") return co(nil)()`, "7"},
	})
}

func TestGmatchIsLazyAndPerIterator(t *testing.T) {
	check(t, []example{
		{`local a, b = ("1 2 3"):gmatch("%d"), ("x y"):gmatch("%a") return a(), b(), a(), b(), a(), b(), a()`, `"1" "x" "2" "y" "3" nil`},
		{`local n = 0 for _ in ("aaa"):gmatch("^a") do n = n + 1 end return n`, "0"},
		{`local s = ("^a"):gmatch("^a")() return s, ("aa"):gsub("^a", "b")`, `"^a" "ba" 1`},
		{`local s = ("aa"):gsub("^a", "b") return s, ("^a"):gmatch("^a")()`, `"ba" "^a"`},
		{`local out = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do out[#out + 1] = k .. v end return table.concat(out, " ")`, `"a1 b2"`},
	})
}

func TestGsubTakesStepsInProportion(t *testing.T) {
	steps := func(n int) int64 {
		run := newRun(t, vm.Limits{})
		run.Globals().RawSetString("s", lua.LString(strings.Repeat("a", n)))
		before := run.Steps()
		if got, want := do(t, run, `return select(2, s:gsub("a", "bb"))`), fmt.Sprint(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		return run.Steps() - before
	}
	if small, large := steps(20_000), steps(200_000); large > 11*small {
		t.Errorf("10 times the matches took %d steps instead of %d", large, small)
	}
}
