package main

// mathRows are the table math, whose functions are all short.
var mathRows = shortRows("math.", "(1, 2)",
	"abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "ldexp",
	"log", "log10", "max", "min", "mod", "modf", "pow", "rad", "random", "randomseed", "sin", "sinh", "sqrt", "tan", "tanh")

func shortRows(table, arguments string, names ...string) (rows []row) {
	for _, name := range names {
		rows = append(rows, row{name: table + name, call: table + name + arguments})
	}
	return rows
}

// otherRows are the tables os, coroutine and debug.
var otherRows = []row{
	{name: "os.clock", call: `os.clock()`},
	{name: "os.date", call: `os.date("%c", 0)`},
	{name: "os.date", setup: `local f = ("%c"):rep(1e5)`, call: `os.date(f)`, display: "100,000 times %c", lead: 1},
	{name: "os.difftime", call: `os.difftime(2, 1)`},
	{name: "os.time", call: `os.time({ year = 2026, month = 1, day = 1 })`},
	{name: "os.time", call: `os.time(setmetatable({}, { __index = spin }))`, lead: forever},
	{name: "coroutine.create", call: `coroutine.create(none)`},
	{name: "coroutine.resume", call: `coroutine.resume(coroutine.create(none))`},
	{name: "coroutine.resume", call: `coroutine.resume(coroutine.create(spin))`, lead: forever},
	{name: "coroutine.running", call: `coroutine.running()`},
	{name: "coroutine.status", setup: `local co = coroutine.create(none)`, call: `coroutine.status(co)`},
	{name: "coroutine.wrap", call: `coroutine.wrap(spin)()`, lead: forever},
	{name: "coroutine.wrap", call: `for _ in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end`, lead: forever},
	{name: "coroutine.yield", call: `pcall(coroutine.yield)`},
	{name: "debug.traceback", call: `debug.traceback("x")`},
	{name: "debug.traceback", setup: `local function deep(n) if n == 0 then return debug.traceback() end local s = deep(n - 1) return s end`,
		call: `deep(900)`, display: "debug.traceback() 900 calls deep"},
}
