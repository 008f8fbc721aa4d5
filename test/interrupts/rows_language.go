package main

// languageRows are what the interpreter does without calling a function.
var languageRows = []row{
	{name: "a .. b", setup: `local a, b = ("a"):rep(16 * M), ("b"):rep(16 * M)`, call: `local _ = a .. b`, display: "two strings of 16 MB"},
	{name: "a .. b", setup: `local a = ("a"):rep(M)`, call: `local _ = a .. a .. a .. a .. a .. a .. a .. a .. a .. a .. a .. a`, display: "twelve strings of 1 MB"},
	{name: "a == b", setup: `local a, b = ("a"):rep(32 * M), ("a"):rep(32 * M)`, call: `local _ = a == b`, display: "equal strings of 32 MB"},
	{name: "a < b", setup: `local a, b = ("a"):rep(32 * M), ("a"):rep(32 * M)`, call: `local _ = a < b`, display: "equal strings of 32 MB",
		lateReason: "gopher-lua compares byte by byte, in one instruction. This matters where the memory limit allows strings of more than 100 MB"},
	{name: "a < b", setup: `local mt = { __lt = function() while true do end end } local a, b = setmetatable({}, mt), setmetatable({}, mt)`, call: `local _ = a < b`, display: "__lt that never ends", lead: forever},
	{name: "a + b", setup: `local a = ("1"):rep(300)`, call: `local _ = a + "0x10"`, display: "numerals"},
	{name: "#t", setup: `local t = {} for i = 1, M do t[i] = i end for i = M, 1, -1 do t[i] = nil end`, call: `local _ = #t`, display: "a table with 1,000,000 removed elements"},
	{name: "t[k]", setup: `local s, t = ("x"):rep(16 * M), {} t[s] = 1`, call: `local _ = t[s]`, display: "a string of 16 MB as key"},
	{name: "t[k]", setup: `local t = {} for i = 1, 90 do t = setmetatable({}, { __index = t }) end`, call: `local _ = t.field`, display: "a chain of 90 __index"},
	{name: "t[k] = v", call: `local t = {} t[M] = 1`, display: "an empty table, at 1,000,000",
		lateReason: "gopher-lua fills the array up to the index, in one instruction. An index above 1,048,575 is outside the array, " +
			"and is quick. With a lower bound `#t` and `ipairs` would stop there too. `rawset` and `table.insert` fill in steps"},
	{name: "t[k] = v", setup: `local t = {}`, call: `for i = 1, 1e6 do t[i] = i end`, display: "1,000,000 elements in turn", lead: 1},
	{name: "t[k] = v", setup: `local t, n = {}, 0`, call: `for i = 1, 1e5 do n = n + 1 t["k" .. n] = n end if n > 5e5 then t, n = {}, 0 end`, display: "500,000 fields", lead: 1},
	{name: "{ ... }", setup: `local list = {} for i = 1, 8 * K do list[i] = i end`, call: `local _ = { unpack(list) }`, display: "8,000 elements"},
	{name: "f(...)", setup: `local list = {} for i = 1, 8 * K do list[i] = i end`, call: `none(unpack(list))`, display: "8,000 arguments"},
	{name: "f(...)", call: `local function f() return f() end f()`, display: "tail calls without end", lead: forever},
	{name: "f(...)", call: `local function f() return 1 + f() end pcall(f)`, display: "a stack overflow"},
	{name: "function", call: `local _ = function() return act end`, display: "a closure"},
	{name: "for", call: `for i = 1, 1 / 0 do end`, lead: forever},
	{name: "goto", call: `::again:: goto again`, lead: forever},
	{name: "errors", setup: `local function deep(n) if n == 0 then error("e") end return 1 + deep(n - 1) end`, call: `pcall(deep, 900)`, display: "an error 900 calls deep"},
	{name: "errors", setup: `
		local function level(k)
			local function deep(n)
				if n > 0 then return 1 + deep(n - 1) end
				if k == 0 then error("e") end
				return coroutine.wrap(function() level(k - 1) end)()
			end
			return deep(900)
		end`, call: `pcall(level, 150)`, display: "an error through 150 coroutines, each 900 calls deep", lead: 1},
	{name: "errors", setup: `
		local function deep(n) if n == 0 then coroutine.yield() return 1 end return 1 + deep(n - 1) end`,
		call:    `for i = 1, 1e9 do coroutine.wrap(deep)(900) end`,
		display: "unreachable coroutines, each suspended 900 calls deep", lead: forever},
}
