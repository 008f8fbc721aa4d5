package runtime_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// leaseBodies are bodies of the function under a lock. None may outlast the
// lease. They may use spin, an endless loop; before, a coroutine made before the
// lock was taken that spins; and held, a lock that another process holds.
var leaseBodies = []struct{ name, body string }{
	{"a loop", `while true do end`},
	{"a repeat", `repeat until false`},
	{"a numeric for", `for i = 1, 1 / 0 do end`},
	{"a generic for", `for _ in function() return 1 end do end`},
	{"a loop by goto", `::again:: goto again`},
	{"tail calls", `local function f() return f() end f()`},
	{"a loop of stack overflows", `local function f() return 1 + f() end while true do pcall(f) end`},
	{"a loop in pcall", `while true do pcall(spin) end`},
	{"pcall as the last act", `return pcall(spin)`},
	{"pcalls in each other", `local function f() pcall(f) while true do pcall(f) end end f()`},
	{"xpcall with a looping handler", `xpcall(error, spin)`},
	{"xpcall whose handler fails", `while true do xpcall(error, error) end`},
	{"a coroutine made before", `coroutine.resume(before)`},
	{"a coroutine made inside", `while true do coroutine.resume(coroutine.create(spin)) end`},
	{"a wrapped coroutine in pcall", `while true do pcall(coroutine.wrap(spin)) end`},
	{"a coroutine that is resumed for ever", `local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end`},
	{"an endless iterator", `local function gen() while true do coroutine.yield(1) end end for _ in coroutine.wrap(gen) do end`},
	{"a callback of gsub", `("aaa"):gsub("a", spin)`},
	{"a library function as callback of gsub", `while true do ("a"):rep(1e5):gsub("a", string.upper) end`},
	{"a sort comparator", `table.sort({ 3, 2, 1 }, spin)`},
	{"a comparator without order", `while true do pcall(table.sort, { 3, 2, 1, 5, 4 }, function() return true end) end`},
	{"__index", `return setmetatable({}, { __index = spin }).field`},
	{"a chain of __index", `local t = {} for i = 1, 90 do t = setmetatable({}, { __index = t }) end while true do local _ = t.field end`},
	{"__newindex", `setmetatable({}, { __newindex = spin }).field = 1`},
	{"__eq", `return setmetatable({}, { __eq = spin }) == setmetatable({}, { __eq = spin })`},
	{"__lt", `local mt = { __lt = spin } return setmetatable({}, mt) < setmetatable({}, mt)`},
	{"__concat", `return setmetatable({}, { __concat = spin }) .. "x"`},
	{"__call", `setmetatable({}, { __call = spin })()`},
	{"__tostring", `tostring(setmetatable({}, { __tostring = spin }))`},
	{"__tostring of print", `print(setmetatable({}, { __tostring = spin }))`},
	{"an error value with __tostring", `local _, e = pcall(error, setmetatable({}, { __tostring = spin })) error("caught " .. tostring(e))`},
	{"native.sleep", `native.sleep(60000)`},
	{"native.sleep in pcall", `while true do pcall(native.sleep, 60000) end`},
	{"short sleeps", `while true do native.sleep(0) end`},
	{"native.db", `while true do native.db.open("p"):add("n", 1) end`},
	{"native.db in pcall", `local p = native.db.open("p") while true do pcall(p.get, p, "k") end`},
	{"the function of update", `native.db.open("p"):update("k", spin)`},
	{"a walk", `local p = native.db.open("p") p:put("k", 1) while true do for _ in p:each() do end end`},
	{"native.json", `local t = {} for i = 1, 1000 do t[i] = { i } end while true do native.json.decode(native.json.encode(t)) end`},
	{"native.log", `while true do pcall(native.log.info, "") end`},
	{"a deadline that is longer", `native.deadline.with(60000, spin)`},
	{"a db lock inside", `native.lock.with("inner", spin)`},
	{"a local lock inside", `native.lock.with("inner", { scope = "local" }, spin)`},
	{"locks inside in pcall", `while true do pcall(native.lock.with, "inner", spin) end`},
	{"a turn that never comes", `native.lock.turn("held", error)`},
	{"a wait that is too long", `native.lock.with("held", { wait_ms = 20000 }, error)`},
	{"string.rep", `while true do ("x"):rep(1e5) end`},
	{"string.find", `("a"):rep(100):find(("a-"):rep(15) .. "b")`},
	{"string.match", `while true do pcall(string.match, ("a"):rep(1e5), "(.*)(.*)b") end`},
	{"string.gsub", `while true do ("a"):rep(1e5):gsub("a", "b") end`},
	{"string.format", `while true do ("%99d%99d%99d"):format(1, 2, 3) end`},
	{"string comparison", `local s = ("x"):rep(1e4) while true do local _ = s < s .. "y" end`},
	{"table.concat", `local t = {} for i = 1, 1e4 do t[i] = "x" end while true do table.concat(t) end`},
	{"table.insert", `local t = {} while true do table.insert(t, 1, 1) end`},
	{"unpack", `local t = {} for i = 1, 1e3 do t[i] = i end while true do unpack(t) end`},
	{"table.sort", `while true do local t = {} for i = 1, 1e4 do t[i] = -i end table.sort(t) end`},
	{"load", `load(function() return " " end)`},
	{"load of a library function", `load(math.random)`},
	{"loadstring", `while true do loadstring("return 1")() end`},
	{"next", `local t = { 1, 2, 3 } while true do for _ in pairs(t) do end end`},
	{"require in pcall", `while true do pcall(require, "missing") end`},
	{"collectgarbage", `while true do collectgarbage() end`},
}

// underLease runs one of leaseBodies under a lock, and checks what remains of it
// afterwards.
const underLease = `
	local scope, lease_ms = %q, 100
	local function spin() while true do end end
	local before = coroutine.create(spin)
	local waiting, fresh, ran_on
	local from = native.time()
	local ok, e = pcall(native.lock.with, "job", { scope = scope, lease_ms = lease_ms }, function()
		waiting = coroutine.wrap(function(n) return coroutine.yield(n) + 1 end)
		assert(waiting(1) == 1)
		fresh = coroutine.wrap(function(n) return n * 2 end)
		local function act() %s end
		act()
		ran_on = true
	end)
	local late_ms = (native.time() - from) * 1000 - lease_ms
	local free = native.test.run(("return (native.lock.with('job', { scope = %%q }, function() end))"):format(scope))
	return {
		result = { ok, e }, late_ms = late_ms, ran_on = ran_on or false, free = free,
		waiting = waiting(41), fresh = fresh(21),
	}
`

func TestLeaseEndsWhateverRunsUnderIt(t *testing.T) {
	for _, scope := range []string{"db", "local"} {
		for _, test := range leaseBodies {
			t.Run(scope+"/"+test.name, func(t *testing.T) {
				inFakeTime(t, func(t *testing.T, h *harness) {
					h.holdLock(t, "a", "held")
					text := h.mustRun(t, "a", fmt.Sprintf(underLease, scope, test.body))
					var got struct {
						Result  []any
						LateMS  float64 `json:"late_ms"`
						RanOn   bool    `json:"ran_on"`
						Free    string
						Waiting float64
						Fresh   float64
					}
					if err := json.Unmarshal([]byte(text), &got); err != nil {
						t.Fatal(err)
					}
					if fmt.Sprint(got.Result) != "[false deadline exceeded]" {
						t.Errorf("got %v, want exactly the error \"deadline exceeded\"", got.Result)
					}
					if got.LateMS < 0 || got.LateMS > 5 {
						t.Errorf("stopped %v ms after the end of the lease, want 0..5", got.LateMS)
					}
					if got.RanOn {
						t.Error("the function ran on")
					}
					if got.Free != "true" {
						t.Errorf("the lock is not free at once: %s", got.Free)
					}
					if got.Waiting != 42 || got.Fresh != 42 {
						t.Errorf("coroutines made under the lock return %v and %v, want 42", got.Waiting, got.Fresh)
					}
					if n := h.lockRows(t, "a"); n != 1 {
						t.Errorf("%d rows of locks are left, want the one held elsewhere", n)
					}
				})
			})
		}
	}
}

func TestNestedLeasesRaiseWhereTheFirstEnds(t *testing.T) {
	const script = `
		local function spin() while true do end end
		local inner = { scope = %q, lease_ms = %d }
		local seen, went_on
		local ok, e = pcall(native.lock.with, "outer", { scope = %q, lease_ms = %d }, function()
			seen = { pcall(native.lock.with, "inner", inner, spin) }
			went_on = true
		end)
		return { ok, e or false, seen or false, went_on or false }`
	for _, inner := range []string{"db", "local"} {
		for _, outer := range []string{"db", "local"} {
			inFakeTime(t, func(t *testing.T, h *harness) {
				want := `[true,true,[false,"deadline exceeded"],true]`
				if got := h.mustRun(t, "a", fmt.Sprintf(script, inner, 300, outer, 1000)); got != want {
					t.Errorf("%s in %s, the inner first: got %s, want %s", inner, outer, got, want)
				}
				want = `[false,"deadline exceeded",false,false]`
				if got := h.mustRun(t, "a", fmt.Sprintf(script, inner, 1000, outer, 300)); got != want {
					t.Errorf("%s in %s, the outer first: got %s, want %s", inner, outer, got, want)
				}
				if n := h.lockRows(t, "a"); n != 0 {
					t.Errorf("%s in %s: %d rows of locks are left", inner, outer, n)
				}
			})
		}
	}
}
