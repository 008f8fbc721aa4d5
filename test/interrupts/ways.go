package main

import (
	"fmt"
	"strings"
)

// way is how a call is made across a deadline.
type way struct {
	name string
	// body is what runs under the deadline. It has at hand: act, a function
	// that makes the call; bare, the function that is called itself; before, a
	// coroutine that was suspended when the deadline began, and makes the call
	// for ever. CALL stands for the call itself.
	body string
}

// ways are the columns of the table. In all but the first the call is repeated
// until the end.
var ways = []way{
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

// script calls the function of a row across many deadlines: rounds times in
// each way, under milliseconds each. It returns what was wrong, a text each.
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
	local function cross(way, last, body)
		local before = coroutine.create(function() coroutine.yield() while true do act() end end)
		coroutine.resume(before)
		local ran_on
		finished = false
		local ok, e = pcall(native.deadline.with, MS, function()
			native.probe.begin()
			body(before)
			ran_on = true
		end)
		local counts = native.probe.over(way, last)
		local function check(right, text) if not right then wrong[#wrong + 1] = way .. ": " .. text end end
		check(not ok and e == "deadline exceeded", "got " .. tostring(ok) .. ", " .. tostring(e))
		check(not ran_on, "the function ran on")
		check(not (finished and LASTS), "the call ended before its deadline")
		local co = coroutine.wrap(function(n) return coroutine.yield(n) + 1 end)
		check(co(1) == 1 and co(41) == 42, "a new coroutine doesn't work")
		check(("x"):rep(3):gsub("x", "y") == "yyy", "the library doesn't work")
		return counts
	end
	for _ = 1, ROUNDS do
		WAYS
	end
	return native.json.list(wrong)`

// kind is what a script is made for.
type kind struct {
	rounds int     // how often each way is tried
	under  float64 // milliseconds of each deadline
	lead   float64 // the shortest lead of a row
	// kilo and mega are the numbers K and M of the rows: 1e3 and 1e6, or less
	// where single instructions on as much would cost too much time.
	kilo, mega float64
}

// tries is how often a measurement is made that others have disturbed.
const tries = 20

// source is the script of a row.
func (r row) source(k kind) string {
	var calls strings.Builder
	for _, w := range ways {
		fmt.Fprintf(&calls, "for try = 1, %d do if cross(%q, try == %d, function(before) %s end) then break end end\n", tries, w.name, tries, w.body)
	}
	text := strings.NewReplacer("SETUP", r.setup, "BARE", r.bare(), "ROUNDS", fmt.Sprint(k.rounds),
		"KILO", fmt.Sprint(k.kilo), "MEGA", fmt.Sprint(k.mega), "WAYS", calls.String()).Replace(script)
	return strings.NewReplacer(
		"CALL", r.call, "MS", fmt.Sprint(k.under), "LEAD", fmt.Sprint(max(r.lead, k.lead)), "LASTS", fmt.Sprint(r.lead > 0),
	).Replace(text)
}

// variables are the names that the rows give to handles.
var variables = map[string]string{
	"partition": "p", "response": "r", "stream": "s", "output": "out", "connection": "conn", "transaction": "tx",
}

// bare is the function of a row as an expression; act, where a row has none
// that can be named.
func (r row) bare() string {
	if kind, method, ok := strings.Cut(r.name, ":"); ok && variables[kind] != "" {
		return variables[kind] + "." + method
	}
	if strings.ContainsAny(r.name, " :[]{}()#") || r.name == "for" || r.name == "goto" || r.name == "function" || r.name == "errors" {
		return "act"
	}
	return r.name
}
