package runtime_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/value"
)

// refusals are calls with bad arguments: for each function, the arguments and
// what the error says about them, parted by "|". That it names the function is
// checked for all of them.
var refusals = map[string][][2]string{
	"native.sleep": numbers("ms", "0..86400000", "-1", ""),
	"native.time":  nil, // takes no arguments

	"native.deadline.remaining": nil, // takes no arguments
	"native.deadline.with": append(numbers("ms", "1..86400000", "0", ", fn"), [][2]string{
		{`1`, "#2|got no value, want function"},
		{`1, nil`, "#2|got nil, want function"},
		{`1, {}`, "#2|got table, want function"},
	}...),

	"native.json.encode": {
		{``, "#1|got no value, want a value"},
		{`fn`, "json_value|value: function"},
		{`{ { cb = fn } }`, "value[1].cb: function"},
		{`nan`, "value: NaN"},
		{`-inf`, "value: an infinity"},
		{`bad`, "value: a string that is not UTF-8"},
		{`{ [bad] = 1 }`, "value: a key that is empty or not UTF-8"},
		{`{ [""] = 1 }`, "value: a key that is empty or not UTF-8"},
		{`{ 1, nil, 3 }`, "value: a list with holes: 2 of 3"},
		{`{ 1, a = 1 }`, "value: both numbers and strings as keys"},
		{`{ [1.5] = 1 }`, "value: key 1.5 of a list"},
		{`{ [fn] = 1 }`, "value: a function as key"},
		{`cycle`, "more than 200 tables deep, or a table that contains itself"},
		{`p`, "value: userdata"},
	},
	"native.json.decode": {
		{``, "#1|text: got no value, want string"},
		{`nil`, "#1|text: got nil, want string"},
		{`1`, "#1|text: got number, want string"},
		{`{}`, "#1|text: got table, want string"},
		{`""`, "json_syntax|the text ends too soon"},
		{`bad`, "json_syntax|not valid UTF-8"},
		{`"nan"`, "json_syntax"},
		{`"1e999"`, "json_syntax|the number 1e999 is too large"},
		{`("["):rep(1e5)`, "json_syntax|more than 200 lists and maps deep"},
		{`(" "):rep(2^24 + 1)`, "#1|text: got 16777217 bytes, want at most 16777216"},
	},
	"native.json.list": lists, "native.db.list": lists,

	"native.log.debug": messages, "native.log.info": messages, "native.log.warn": messages, "native.log.error": messages,

	"native.lock.with": slices.Concat(locks, [][2]string{
		{`"l", { wait_ms = -1 }, fn`, "#2|wait_ms: got -1, want 0 or more"},
		{`"l", { wait_ms = nan }, fn`, "#2|wait_ms: got NaN, want 0 or more"},
		{`"l", { wait_ms = inf }, fn`, "#2|wait_ms: got +Inf, want 0 or more"},
		{`"l", { wait_ms = "1" }, fn`, "#2|wait_ms: got string, want number"},
		{`"l", { poll_ms = 1 }, fn`, `#2|unknown option "poll_ms"`},
	}),
	"native.lock.turn": slices.Concat(locks, [][2]string{
		{`"l", { poll_ms = 0 }, fn`, "#2|poll_ms: got 0, want 1..3600000"},
		{`"l", { poll_ms = nan }, fn`, "#2|poll_ms: got NaN, want 1..3600000"},
		{`"l", { poll_ms = huge }, fn`, "#2|poll_ms: got 1e+300, want 1..3600000"},
		{`"l", { poll_ms = {} }, fn`, "#2|poll_ms: got table, want number"},
		{`"l", { wait_ms = 1 }, fn`, `#2|unknown option "wait_ms"`},
	}),

	"native.db.open": {
		{``, "#1|name: got no value, want string"},
		{`nil`, "#1|name: got nil, want string"},
		{`1`, "#1|name: got number, want string"},
		{`""`, `db_key|partition name ""|want 1 to 64`},
		{`bad`, `db_key|partition name "\xff"|want 1 to 64`},
		{`long`, "db_key|partition name|want 1 to 64"},
		{`"!locks"`, `db_key|partition name "!locks"`},
	},
	"native.db.atomic": {
		{``, "#1|entries: got |want table"},
		{`nil`, "#1|entries: got nil, want table"},
		{`p`, "#1|entries: got userdata, want table"},
		{`{}`, "db_too_large|0 entries, want 1..100"},
		{`many`, "db_too_large|101 entries, want 1..100"},
		{`{ 1 }`, "#1|entries[1]: got number, want table"},
		{`{ { "put", "p", "k", 1 } }`, "#1|entries[1][2]: got string, want a partition"},
		{`{ { "put", native.db.null, "k", 1 } }`, "#1|entries[1][2]: |want a partition"},
		{`{ { "frob", p, "k" } }`, `#1|entries[1][1]: |want "put", "add", "delete" or "check"`},
		{`{ ok, { "put", p } }`, "#1|entries[2][3]: got nil, want a key"},
		{`{ ok, { "put", p, "" , 1 } }`, "db_key|entry 2: key is empty"},
		{`{ ok, { "put", p, bad, 1 } }`, "db_key|entry 2: key is not valid UTF-8"},
		{`{ ok, { "put", p, long, 1 } }`, "db_key|entry 2: key has 513 bytes, want at most 512"},
		{`{ ok, { "put", p, "k" } }`, "db_value|entry 2: value: nil"},
		{`{ ok, { "put", p, "k", nan } }`, "db_value|entry 2: value: NaN"},
		{`{ ok, { "put", p, "k", 1, 1 } }`, "#1|entries[2][5]: got number, want table"},
		{`{ ok, { "put", p, "k", 1, { neww = true } } }`, `db_option|entry 2: unknown option "neww", did you mean "new"?`},
		{`{ ok, { "add", p, "k", "1" } }`, "#1|entries[2][4]: got string, want number"},
		{`{ ok, { "add", p, "k", 0.5 } }`, "db_value|entry 2: got 0.5 to add"},
		{`{ ok, { "check", p, "k" } }`, "db_option|entry 2: check needs rev or new"},
		{`{ ok, { "delete", p, "k", { rev = 1 } } }`, "db_option|entry 2: rev: got |want string"},
		{`{ ok, ok }`, "db_key|entry 2: the key was used by an entry before it"},
	},

	"p:get": append(keys("", `, { stale = true }`), [][2]string{
		{`"k", 1`, "#2|options: got number, want table"},
		{`"k", { true }`, "db_option|options: got a list"},
		{`"k", { stal = true }`, `db_option|unknown option "stal", did you mean "stale"?`},
		{`"k", { stale = 1 }`, "db_option|stale: got |want boolean"},
	}...),
	"p:get_many": {
		{``, "#1|keys: got |want a list of strings"},
		{`"k"`, "#1|keys: got string, want table"},
		{`{ 1 }`, "#1|keys[1]: |want string"},
		{`{ "k", nil, "l" }`, "#1|keys: a list with holes"},
		{`{ a = "k" }`, "#1|keys: got |want a list of strings"},
		{`{ "k", "" }`, "db_key|key is empty"},
		{`{ "k", bad }`, "db_key|key is not valid UTF-8"},
		{`{ long }`, "db_key|key has 513 bytes, want at most 512"},
		{`many_keys`, "db_too_large|100"},
		{`{ "k" }, { x = 1 }`, `db_option|unknown option "x"`},
	},
	"p:put": append(keys(", 1", `, { ttl = 1 }`), [][2]string{
		{`"k"`, "db_value|value: nil"},
		{`"k", fn`, "db_value|value: function"},
		{`"k", p`, "db_value|value: userdata"},
		{`"k", nan`, "db_value|value: NaN"},
		{`"k", { a = { 1, inf } }`, "db_value|value.a[2]: an infinity"},
		{`"k", huge`, "db_value|value: number 1e+300"},
		{`"k", { [bad] = 1 }`, "db_value|value: a key that is empty or not UTF-8"},
		{`"k", { [4000] = 1 }`, "db_value|value: a list with holes"},
		{`"k", cycle`, "db_value|more than 31 tables deep, or a table that contains itself"},
		{`"k", ("x"):rep(4e5)`, "db_too_large|400000 bytes, want at most 389120"},
		{`"k", 1, 1`, "#3|options: got number, want table"},
		{`"k", 1, { tll = 1 }`, `db_option|unknown option "tll", did you mean "ttl"?`},
		{`"k", 1, { rev = 1 }`, "db_option|rev: got |want string"},
		{`"k", 1, { rev = "" }`, "db_option|rev: got an empty string"},
		{`"k", 1, { rev = "r", new = true }`, "db_option|exclude each other"},
		{`"k", 1, { new = 1 }`, "db_option|new: got |want boolean"},
	}...),
	"p:delete": append(keys("", `, { rev = "r" }`), [][2]string{
		{`"k", 1`, "#2|options: got number, want table"},
		{`"k", { rev = 1 }`, "db_option|rev: got |want string"},
		{`"k", { new = true }`, `db_option|unknown option "new"`},
	}...),
	"p:add": append(keys(", 1", `, { ttl = 1 }`), [][2]string{
		{`"k"`, "#2|n: got |want number"},
		{`"k", "1"`, "#2|n: got string, want number"},
		{`"k", nan`, "db_value|got NaN to add, want a whole number"},
		{`"k", inf`, "db_value|got +Inf to add, want a whole number"},
		{`"k", 0.5`, "db_value|got 0.5 to add, want a whole number"},
		{`"k", huge`, "db_value|got 1e+300 to add, want a whole number"},
		{`"k", 1, { min = nan }`, "#3|options.min: NaN"},
		{`"k", 1, { min = "1" }`, "db_option|min: got |want number"},
		{`"k", 1, { min = 5, max = 1 }`, "db_option|min 5 is over max 1"},
		{`"k", 1, { ttl = -1 }`, "db_option|ttl: got -1, want more than 0"},
		{`"k", 1, { mni = 1 }`, `db_option|unknown option "mni"`},
	}...),
	"p:update": append(keys(", fn", ""), [][2]string{
		{`"k"`, "#2|got no value, want function"},
		{`"k", {}`, "#2|got table, want function"},
		{`"k", function() return nan end`, "db_value|value: NaN"},
		{`"k", function() return { cb = print } end`, "db_value|value.cb: function"},
	}...),
	"p:list": walks,
	"p:each": slices.Concat(walks, [][2]string{{`{ limit = 2^31 }`, "db_option|limit: got |want a whole number from 1"}}),
}

// numbers are bad values of a number that is the first argument.
func numbers(name, bounds, below, more string) [][2]string {
	want := "#1|" + name + ": got "
	return [][2]string{
		{``, want + "no value, want number"},
		{`nil` + more, want + "nil, want number"},
		{`"1"` + more, want + "string, want number"},
		{`{}` + more, want + "table, want number"},
		{below + more, want + below + ", want " + bounds},
		{`nan` + more, want + "NaN, want " + bounds},
		{`inf` + more, want + "+Inf, want " + bounds},
		{`-inf` + more, want + "-Inf, want " + bounds},
		{`huge` + more, want + "1e+300, want " + bounds},
	}
}

// keys are bad keys, with good arguments behind them.
func keys(more, options string) [][2]string {
	return [][2]string{
		{``, "#1|key: got no value, want string"},
		{`nil` + more, "#1|key: got nil, want string"},
		{`1` + more, "#1|key: got number, want string"},
		{`{}` + more + options, "#1|key: got table, want string"},
		{`""` + more, "db_key|key is empty"},
		{`bad` + more + options, "db_key|key is not valid UTF-8"},
		{`long` + more, "db_key|key has 513 bytes, want at most 512"},
		{`"\244\143\191\191"` + more, "db_key|key contains U+10FFFF"},
	}
}

var locks = [][2]string{
	{``, "#1|name: got no value, want string"},
	{`nil, fn`, "#1|name: got nil, want string"},
	{`1, fn`, "#1|name: got number, want string"},
	{`"", fn`, "#1|name: got an empty string, want 1..512 bytes"},
	{`long, fn`, "#1|name: got 513 bytes, want 1..512"},
	{`bad, fn`, "#1|name: not valid UTF-8"},
	{`"native:x", fn`, `#1|name: begins with "native:"`},
	{`"l"`, "#3|got no value, want function"},
	{`"l", {}, {}`, "#3|got table, want function"},
	{`"l", 1, fn`, "#2|options: got number, want table"},
	{`"l", { 1 }, fn`, "#2|unknown option: a number as key"},
	{`"l", { leasems = 1 }, fn`, `#2|unknown option "leasems", did you mean "lease_ms"?`},
	{`"l", { [bad] = 1 }, fn`, `#2|unknown option "\xff"`},
	{`"l", { scope = "global" }, fn`, `#2|scope: got "global", want "db" or "local"`},
	{`"l", { scope = 1 }, fn`, "#2|scope: got number, want string"},
	{`"l", { lease_ms = 0 }, fn`, "#2|lease_ms: got 0, want 1..3600000"},
	{`"l", { lease_ms = -1 }, fn`, "#2|lease_ms: got -1, want 1..3600000"},
	{`"l", { lease_ms = nan }, fn`, "#2|lease_ms: got NaN, want 1..3600000"},
	{`"l", { lease_ms = inf }, fn`, "#2|lease_ms: got +Inf, want 1..3600000"},
	{`"l", { lease_ms = huge }, fn`, "#2|lease_ms: got 1e+300, want 1..3600000"},
	{`"l", { lease_ms = "1" }, fn`, "#2|lease_ms: got string, want number"},
	{`"l", { scope = "local", lease_ms = -1 }, fn`, "#2|lease_ms: got -1, want 1..3600000"},
}

var lists = [][2]string{
	{`nil`, "#1|got nil, want table"},
	{`1`, "#1|got number, want table"},
	{`p`, "#1|got partition, want table"},
	{`setmetatable({}, {})`, "#1|a table with a metatable of its own"},
}

var messages = [][2]string{
	{``, "#1|message: got no value, want string"},
	{`nil`, "#1|message: got nil, want string"},
	{`1`, "#1|message: got number, want string"},
	{`"m", 1`, "#2|fields: got number, want a table with string keys"},
	{`"m", { 1 }`, "#2|fields: got table, want a table with string keys"},
	{`"m", { a = nan }`, "#2|fields.a: NaN"},
	{`"m", { a = { fn } }`, "#2|fields.a[1]: function"},
	{`"m", { [bad] = 1 }`, "#2|fields: a key that is empty or not UTF-8"},
	{`"m", cycle`, "#2|more than 10 tables deep, or a table that contains itself"},
}

var walks = [][2]string{
	{`1`, "#1|options: got number, want table"},
	{`{ 1 }`, "db_option|options: got a list"},
	{`{ lmit = 1 }`, `db_option|unknown option "lmit", did you mean "limit"?`},
	{`{ limit = -1 }`, "db_option|limit: got -1, want a whole number from 1"},
	{`{ limit = 1.5 }`, "db_option|limit: got 1.5, want a whole number from 1"},
	{`{ limit = huge }`, "db_option|limit: got 1e+300, want a whole number from 1"},
	{`{ limit = nan }`, "#1|options.limit: NaN"},
	{`{ limit = inf }`, "#1|options.limit: an infinity"},
	{`{ limit = "1" }`, "db_option|limit: got |want number"},
	{`{ prefix = 1 }`, "db_option|prefix: got |want string"},
	{`{ prefix = bad }`, "db_key|prefix is not valid UTF-8"},
	{`{ after = long }`, "db_key|after has 513 bytes, want at most 512"},
	{`{ before = {} }`, "options.before: more than 1 tables deep"},
	{`{ reverse = 1 }`, "db_option|reverse: got |want boolean"},
}

// refused calls a function with bad arguments; fn must not be called.
const refused = `
	local p, nan, inf, huge, long, bad = native.db.open("p"), 0 / 0, 1 / 0, 1e300, ("k"):rep(513), "\255"
	local cycle, many, many_keys = {}, {}, {}
	cycle.cycle = cycle
	for i = 1, 101 do many[i], many_keys[i] = { "put", p, "k" .. i, 1 }, "k" .. i end
	local ok = { "put", p, "first", 1 }
	local ran = false
	local function fn() ran = true end
	local done, e = pcall(function() return CALL end)
	return { done, type(e) == "table" and e.retryable, tostring(e), ran }`

func TestEachFunctionRefusesBadArguments(t *testing.T) {
	for name, cases := range refusals {
		verb := name[strings.LastIndexAny(name, ".:")+1:]
		for _, test := range cases {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				call := name + "(" + test[0] + ")"
				r := h.Run(t, "a", strings.Replace(refused, "CALL", call, 1))
				if r.Error != nil {
					t.Fatalf("%s: %v", call, r.Error)
				}
				var got []any
				if err := json.Unmarshal(r.JSON, &got); err != nil {
					t.Fatal(err)
				}
				text, _ := got[2].(string)
				if got[0] == true || got[1] == true || got[3] == true {
					t.Errorf("%s: done %v, retryable %v, %q, its function called %v; want nothing but an error", call, got[0], got[1], text, got[3])
				}
				if !strings.Contains(text, "to '"+verb+"' (") && !strings.Contains(text, " in "+verb+": ") {
					t.Errorf("%s: got %q, want the name of the function", call, text)
				}
				for want := range strings.SplitSeq(test[1], "|") {
					if !strings.Contains(text, want) {
						t.Errorf("%s: got %q, want %q in it", call, text, want)
					}
				}
				h.checkUntouched(t, call)
				if ops := r.Counters.DataOps; ops != 0 && verb != "update" {
					t.Errorf("%s: %d data operations, want none", call, ops)
				}
			})
		}
	}
}

// checkUntouched fails the test if a call has written a row or holds a lock.
func (h *house) checkUntouched(t *testing.T, call string) {
	t.Helper()
	rows := h.store.Query(t.Context(), db.Query{Partition: "a/p", Low: "\x00", High: "\U0010FFFF", Limit: 1000})
	if len(rows.Items) != 0 {
		t.Errorf("%s: wrote %d rows", call, len(rows.Items))
	}
	if n := h.locked(t, "a"); n != 0 {
		t.Errorf("%s: holds %d db locks", call, n)
	}
	free := h.mustRun(t, "a", `return (native.lock.with("l", { scope = "local" }, function() end))`)
	if free != "true" {
		t.Errorf("%s: holds a local lock", call)
	}
}

func TestEachNativeFunctionIsListedWithItsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		text := h.mustRun(t, "a", `
			local names = native.test.methods(native.db.open("p"))
			for name, v in pairs(native) do
				if type(v) == "function" then
					names[#names + 1] = "native." .. name
				elseif name ~= "test" and name ~= "context" then
					for field, f in pairs(v) do
						if type(f) == "function" then names[#names + 1] = "native." .. name .. "." .. field end
					end
				end
			end
			return names`)
		var names []string
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, listed := refusals[name]; !listed {
				t.Errorf("%s is not listed", name)
			}
		}
		for name := range refusals {
			if !slices.Contains(names, name) {
				t.Errorf("%s is listed, and there is no such function", name)
			}
		}
	})
}

// methods is native.test.methods(partition): the names of its methods, which
// scripts can't list.
func methods(c *native.Call) error {
	names := value.List{}
	partition := c.Arg(1).(*lua.LUserData)
	partition.Metatable.(*lua.LTable).RawGetString("__index").(*lua.LTable).ForEach(func(name, _ lua.LValue) {
		names = append(names, "p:"+name.String())
	})
	return c.Return(native.ToLua(c.Run, names))
}
