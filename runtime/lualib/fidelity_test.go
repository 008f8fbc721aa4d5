package lualib

import "testing"

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
		{`("1" .. ("0"):rep(1e6)) + 0`, "error: attempt to perform arithmetic on a string value"},
		{`{} + "1"`, "error: attempt to perform arithmetic on a table value"},
		{`"1" + nil`, "error: attempt to perform arithmetic on a nil value"},
		{`tonumber(("0"):rep(401))`, "nil"}, {`tonumber(("0"):rep(400))`, "0"},
		{`tonumber((" "):rep(1e6) .. 1)`, "nil"},
		{`local s = 0 for i = "1", "3" do s = s + i end return s`, "6"},
		{`local s = "" for i = "0x3", 1, "-1" do s = s .. i end return s`, `"321"`},
		{`for i = "x", 1 do end`, "error: 'for' initial value must be a number"},
		{`for i = 1, {} do end`, "error: 'for' limit must be a number"},
		{`for i = 1, 2, "1_0" do end`, "error: 'for' step must be a number"},
		{`local m = setmetatable({}, {__add = function(a, b) return type(a) .. type(b) end}) return "1" + m, m + "x"`, `"stringtable" "tablestring"`},
		{`getmetatable("")`, "false"},
	})
}

func TestRemaindersAreLuas(t *testing.T) {
	check(t, []example{
		{`local a, b = 7, 0.01 return a % b`, "0"}, {`7 % 0.01`, "0"}, {`local a = -7 return a % 3, 7 % -3, a % -3`, "2 -2 -1"},
		{`local a = 5.5 return a % 2, a % -2`, "1.5 -0.5"}, {`local a = 5 return a % (1 / 0) ~= a % (1 / 0)`, "true"},
		{`local a = 5 return a % 0 ~= a % 0`, "true"}, {`local a, b = 2 ^ 53, 3 return a % b`, "2"}, {`local a = 300 return a % 1000, a % 257`, "300 43"},
	})
}

func TestMinusPassesItsOperandTwice(t *testing.T) {
	check(t, []example{
		{`local m = setmetatable({}, {__unm = function(...) return select("#", ...) .. tostring(rawequal(...)) end}) return -m`, `"2true"`},
		{`local m = setmetatable({}, {__unm = setmetatable({}, {__call = function(_, a) return type(a) end})}) return -m`, `"table"`},
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
