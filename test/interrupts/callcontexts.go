package main

import (
	"fmt"
	"strings"
)

// callContext is a context in which a call is made across a deadline: from a
// loop, a callback, a coroutine and so on.
type callContext struct {
	name string
	// body is what runs under the deadline. It can use these variables: act, a
	// function that makes the call; bare, the called function itself; before, a
	// coroutine that was suspended when the deadline began and makes the call
	// forever. CALL stands for the call.
	body string
}

// callContexts are the columns of the table. In all but the first, the call is
// repeated until the deadline.
var callContexts = []callContext{
	{"directly", `repeat until native.deadline.remaining() <= LEAD act() finished = true spin()`},
	{"in a loop", `while true do CALL end`},
	{"gsub", `while true do pcall(string.gsub, subject, ".", bare) string.gsub(subject, ".", act) end`},
	{"sort", `while true do pcall(table.sort, { 3, 1, 2 }, bare) table.sort({ 3, 1, 2 }, act) end`},
	{"xpcall", `while true do xpcall(error, bare) xpcall(error, act) end`},
	{"old coroutine", `while true do coroutine.resume(before) end`},
	{"new coroutine", `while true do pcall(coroutine.wrap(bare)) coroutine.resume(coroutine.create(act)) end`},
	{"metamethod", `while true do
		pcall(field, setmetatable({}, { __index = bare })) field(setmetatable({}, { __index = act }))
		pcall(join, setmetatable({}, { __concat = bare })) join(setmetatable({}, { __concat = act }))
	end`},
}

// script calls the function of a row across many deadlines: scale.rounds times
// in each call context. It returns a list of what was wrong.
const script = `
	local none = function() end
	local spin = function() while true do end end
	local field = function(t) return t.field end
	local join = function(t) return t .. "x" end
	local subject = ("x"):rep(100)
	local wrong = {}
	local K, M = KILO, MEGA
	SETUP
	local function act() CALL end
	local bare = BARE
	local finished
	local function cross(context, last, body)
		local before = coroutine.create(function() coroutine.yield() while true do act() end end)
		coroutine.resume(before)
		local ran_on
		finished = false
		local ok, e = pcall(native.deadline.with, MS, function()
			native.probe.begin()
			body(before)
			ran_on = true
		end)
		local counted = native.probe.raised(context, last)
		local function check(right, text) if not right then wrong[#wrong + 1] = context .. ": " .. text end end
		check(not ok and e == "deadline exceeded", "got " .. tostring(ok) .. ", " .. tostring(e))
		check(not ran_on, "the function ran on")
		check(not (finished and LASTS), "the call ended before its deadline")
		local co = coroutine.wrap(function(n) return coroutine.yield(n) + 1 end)
		check(co(1) == 1 and co(41) == 42, "a new coroutine doesn't work")
		check(("x"):rep(3):gsub("x", "y") == "yyy", "the library doesn't work")
		return counted
	end
	for _ = 1, ROUNDS do
		CONTEXTS
	end
	return native.json.list(wrong)`

// scale adapts a script to real time or to fake time.
type scale struct {
	rounds   int     // measurements in each call context
	deadline float64 // in milliseconds
	lead     float64 // the shortest lead of a row, in milliseconds
	// kilo and mega are the numbers K and M in the rows: 1e3 and 1e6, or less
	// where a single instruction on so much data would take too long.
	kilo, mega float64
}

// tries is how often a disturbed measurement is made.
const tries = 20

// source is the script of a row.
func (r row) source(k scale) string {
	var calls strings.Builder
	for _, w := range callContexts {
		fmt.Fprintf(&calls, "for try = 1, %d do if cross(%q, try == %d, function(before) %s end) then break end end\n", tries, w.name, tries, w.body)
	}
	text := strings.NewReplacer("SETUP", r.setup, "BARE", r.function(), "ROUNDS", fmt.Sprint(k.rounds),
		"KILO", fmt.Sprint(k.kilo), "MEGA", fmt.Sprint(k.mega), "CONTEXTS", calls.String()).Replace(script)
	return strings.NewReplacer(
		"CALL", r.call, "MS", fmt.Sprint(k.deadline), "LEAD", fmt.Sprint(max(r.lead, k.lead)), "LASTS", fmt.Sprint(r.lead > 0),
	).Replace(text)
}

// variables are the names of the handles in the rows, by kind.
var variables = map[string]string{
	"partition": "p", "response": "r", "stream": "s", "output": "out", "connection": "conn", "transaction": "tx",
}

// function returns the function of a row as an expression, or act where it has
// no name.
func (r row) function() string {
	if kind, method, ok := strings.Cut(r.name, ":"); ok && variables[kind] != "" {
		return variables[kind] + "." + method
	}
	if strings.ContainsAny(r.name, " :[]{}()#") || r.name == "for" || r.name == "goto" || r.name == "function" || r.name == "errors" {
		return "act"
	}
	return r.name
}
