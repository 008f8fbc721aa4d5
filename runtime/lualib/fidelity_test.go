package lualib

import (
	"fmt"
	"testing"
)

func TestStringsInArithmeticAreReadAsNumerals(t *testing.T) {
	check(t, []example{
		{`"010" + "012"`, "22"}, {`"0x10" - 1`, "15"}, {`"2" * "3"`, "6"}, {`"7" / 2`, "3.5"}, {`"7" % "4"`, "3"}, {`2 ^ "3"`, "8"},
		{`-"2"`, "-2"}, {`-" 0x10 "`, "-16"}, {`"1e2" + 0`, "100"}, {`10 .. 20`, `"1020"`},
		{`"1_000" + 0`, "error: attempt to perform arithmetic on a string value"},
		{`"inf" + 0`, "error: attempt to perform arithmetic on a string value"},
		{`"nan" + 0`, "error: attempt to perform arithmetic on a string value"},
		{`"0b11" + 0`, "error: attempt to perform arithmetic on a string value"},
		{`"" + 1`, "error: attempt to perform arithmetic on a string value"},
		{`-"x"`, "error: attempt to perform arithmetic on a string value"},
		{`select(2, pcall(function() return ("1" .. ("0"):rep(1e6)) + 0 end)):match("attempt.-value")`, `"attempt to perform arithmetic on a string value"`},
		{`{} + "1"`, "error: attempt to perform arithmetic on a table value"},
		{`"1" + nil`, "error: attempt to perform arithmetic on a nil value"},
		{`tonumber(("0"):rep(401))`, "nil"}, {`tonumber(("0"):rep(400))`, "0"},
		{`tonumber((" "):rep(1e6) .. 1)`, "nil"},
		{`local s = 0 for i = "1", "3" do s = s + i end return s`, "6"},
		{`local s = "" for i = "0x3", 1, "-1" do s = s .. i end return s`, `"321"`},
		{`local s, a, b, c = "", "0x3", " 1 ", "-1" for i = a, b, c do s = s .. i .. type(i) end return s`, `"3number2number1number"`},
		{`local s, n = 0, "3" for i = 1, n do s = s + i end for i = n, 4 do s = s + i end for i = 4, 1, -n do s = s + i end return s`, "18"},
		{`for i = "x", 1 do end`, "error: for statement init must be a number"},
		{`for i = 1, {} do end`, "error: for statement limit must be a number"},
		{`for i = 1, 2, "1_0" do end`, "error: for statement step must be a number"},
		{`local n, x = 0 local function f() n = n + 1 return 1 end pcall(function() for i = x, f(), f() do end end) pcall(function() for i = x, f() + 1 do end end) return n`, "3"},
		{`for i = nil, nil, nil do end`, "error: for statement init must be a number"},
		{`for i = 1, nil, nil do end`, "error: for statement limit must be a number"},
		{`for i = setmetatable({}, {__sub = function() return 1 end}), 1 do end`, "error: for statement init must be a number"},
		{`local m = setmetatable({}, {__add = function(a, b) return type(a) .. type(b) end}) return "1" + m, m + "x"`, `"stringtable" "tablestring"`},
		{`getmetatable("")`, "false"},
	})
}

// TestRemaindersAreTheInterpreters, whether they are of constants, of variables
// or of strings: gopher-lua's % is not a - floor(a/b)*b, but C's fmod.
func TestRemaindersAreTheInterpreters(t *testing.T) {
	const all = "local a, b = %s, %s local s = a .. '' local r = {(%[1]s) %% (%[2]s), a %% b, s %% b, a %% (b .. '')} " +
		"for i = 2, 4 do assert(r[i] == r[1] or r[1] ~= r[1] and r[i] ~= r[i]) end return r[1]"
	var examples []example
	for _, e := range [][3]string{
		{"7", "0.01", "0.0099999999999998545"}, {"-7", "3", "2"}, {"7", "-3", "-2"}, {"-7", "-3", "-1"}, {"5.5", "-2", "-0.5"}, {"5.5", "2", "1.5"},
		{"2 ^ 53", "3", "2"}, {"300", "257", "43"}, {"0", "3", "0"}, {"-6", "3", "-0"},
	} {
		examples = append(examples, example{fmt.Sprintf(all, e[0], e[1]), e[2]})
	}
	check(t, append(examples,
		example{`local a = 5 return a % 0 ~= a % 0, 5 % 0 ~= 5 % 0, "5" % 0 ~= "5" % 0`, "true true true"},
		example{`local a, b = 5, 1 / 0 return a % b, 5 % (1 / 0), "5" % b, -a % b`, "5 5 5 inf"}))
}

func TestMinusPassesItsOperandOnce(t *testing.T) {
	check(t, []example{
		{`local m = setmetatable({}, {__unm = function(...) return select("#", ...) end}) return -m`, "1"},
		{`local m = setmetatable({}, {__unm = function(a) return a.x end}) m.x = 7 return -m`, "7"},
	})
}

func TestLengthIsOfEveryKind(t *testing.T) {
	check(t, []example{
		{`local s, t, e = "abc", {1, 2, nil, 4}, {} return #s, #t, #e, #"", #{1, 2}, #(s .. s)`, "3 4 0 0 2 6"},
		{`local t = setmetatable({1, 2}, {__len = function(...) return select("#", ...) + 6 end}) return #t, -#t`, "7 -7"},
		{`local t = setmetatable({}, {__len = function() return "x", 2 end}) return #t`, `"x"`},
		{`local t = setmetatable({1}, {}) return #t`, "1"}, {`local t = setmetatable({1}, {__len = 5}) return #t`, "1"},
		{`local t = {} for i = 1, 2000 do t[#t + 1] = i end for i = 1, 500 do t[#t] = nil end return #t, t[#t]`, "1500 1500"},
		{`local function f() return {1, 2, 3}, 4 end local t = {#f(), #f()} return #f(), select("#", #f()), #t`, "3 1 2"},
		{`local x return #x`, "error: attempt to get length of a nil value"},
		{`return #5`, "error: attempt to get length of a number value"},
		{`return #pairs`, "error: attempt to get length of a function value"},
	})
}

func TestArgumentsOfLaterVersionsCount(t *testing.T) {
	check(t, []example{
		{`("x"):rep(3, ","), ("x"):rep(1, ","), ("x"):rep(0, ","), (""):rep(3, "-")`, `"x,x,x" "x" "" "--"`},
		{`#("ab"):rep(100000, ";")`, "299999"},
		{`math.log(8, 2), math.log(1000, 10)`, "3 3"},
		{`xpcall(function(...) return select("#", ...), ... end, print, 1, nil, 3)`, "true 3 1 nil 3"},
		{`xpcall(error, function(e) return e .. "!" end, "x")`, `false "x!"`},
		{`local t = setmetatable({5}, {__pairs = function(t) return function(_, k) if not k then return "k", t[1] end end, t end}) for k, v in pairs(t) do return k, v end`, `"k" 5`},
		{`load("return x", "n", "t", {x = 5})()`, "5"},
		{`loadstring("return x", "n", nil, {x = 6})()`, "6"},
		{`loadstring("return 1", "n", "b")`, `nil "attempt to load a text chunk (mode is 'b')"`},
		{`load("x", "n", "t", nil)`, "error: bad argument #4 to 'load' (table expected, got nil)"},
		{`local s = 0 for i, f in ipairs{load("return ...")} do s = f(7) end return s`, "7"},
	})
}

func TestErrorsHaveNoEmptyPosition(t *testing.T) {
	check(t, []example{
		{`pcall(table.sort, {1, "x"})`, `false "attempt to compare string with number"`},
		{`pcall(table.sort, {{}, {}})`, `false "attempt to compare two table values"`},
		{`table.sort({true, false})`, "error: attempt to compare two boolean values"},
	})
}

func TestNextVisitsEachKeyOnce(t *testing.T) {
	check(t, []example{
		{`local t, n = {1, 2, x = 3, y = 4}, 0 for k in pairs(t) do n = n + 1 if k == 2 then table.remove(t) end end return n`, "4"},
		{`local t = {} for i = 1, 1000 do t[i] = i end for k in pairs(t) do t[k] = nil local _ = #t end return next(t)`, "nil"},
		{`local t = {x = 1} t.x = nil return next(t, "x")`, "nil"},
		{`next({}, "x")`, "error: invalid key to 'next'"},
		{`local t = {} for i = 1, 100 do t[i] = i end for i = 50, 100 do t[i] = nil end local n = #t t[70] = 1 return n, next(t, 60)`, "49 70 1"},
	})
}
