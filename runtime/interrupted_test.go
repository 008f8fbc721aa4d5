package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestInterruptHasThePlaceAndStackOfTheRun(t *testing.T) {
	modules := fstest.MapFS{"lib/spin.lua": {Data: []byte("local M = {}\nfunction M.spin()\n  while true do end\nend\nreturn M\n")}}
	timeout := tenant.Limits{Timeout: 100 * time.Millisecond}
	for _, test := range []struct {
		name   string
		limits tenant.Limits
		source string
		kind   runtime.ErrorType
		want   string // file:line, and the frames as line function
	}{
		{"a loop", timeout, `
			local function spin()
				while true do end
			end
			local function work() spin() return 1 end
			work()
			return 1`, runtime.Timeout, "test.lua:3|3 spin|5 work|6 main chunk"},
		{"the function of the event", timeout, `return function(event)
				while true do end
			end`, runtime.Timeout, "test.lua:2|2 function at test.lua:1"},
		{"a native call", timeout, `
			local function wait() native.sleep(60000) return 1 end
			wait()
			return 1`, runtime.Timeout, "test.lua:2|2 wait|3 main chunk"},
		{"a library function", timeout, `
			local s = ("a"):rep(1e6)
			for i = 1, 1e6 do
				s:find(".-.-.-b")
			end
			return 1`, runtime.Timeout, "test.lua:4|4 main chunk"},
		{"a module", timeout, `
			local spin = require("lib.spin")
			spin.spin()
			return 1`, runtime.Timeout, "lib/spin.lua:3|3 spin|3 main chunk"},
		{"under pcall", timeout, `
			local function spin() while true do end end
			local function work() pcall(spin) return 1 end
			while true do pcall(work) end`, runtime.Timeout, "test.lua:2|2 spin|3 work|4 main chunk"},
		{"in a coroutine", timeout, `
			local function spin() while true do end end
			local co = coroutine.wrap(function() spin() return 1 end)
			local function work() co() return 1 end
			work()
			return 1`, runtime.Timeout, "test.lua:2|2 spin|3 function at test.lua:3|4 work|5 main chunk"},
		{"under a lease", timeout, `
			native.lock.with("l", { lease_ms = 50 }, function()
				pcall(native.deadline.with, 1000, function() while true do end end)
			end)
			return 1`, runtime.RuntimeError, "test.lua:3|3 function at test.lua:3|3 function at test.lua:2|2 main chunk"},
		{"a timeout under a lease", timeout, `
			native.lock.with("l", function()
				while true do end
			end)
			return 1`, runtime.Timeout, "test.lua:3|3 function at test.lua:2|2 main chunk"},
		{"instructions", tenant.Limits{Instructions: 10_000}, `
			local n = 0
			while true do
				n = n + 1
			end`, runtime.LimitExceeded, "test.lua:*|* main chunk"},
		{"memory", tenant.Limits{MemoryBytes: 1 << 20}, `
			local s = "x"
			local function double() s = s .. s end
			while true do
				double()
			end`, runtime.LimitExceeded, "test.lua:3|3 double|5 main chunk"},
		{"log bytes", tenant.Limits{LogBytes: 100}, `
			while true do
				print("what is printed")
			end`, runtime.LimitExceeded, "test.lua:3|3 main chunk"},
		{"a deep recursion", timeout, `
			local function deep(n) if n == 0 then while true do end end return 1 + deep(n - 1) end
			deep(900)
			return 1`, runtime.Timeout, "test.lua:2|" + strings.Repeat("2 deep|", 10) + "0 ... (882 more)|" + strings.Repeat("2 deep|", 9) + "3 main chunk"},
		{"a stack overflow", tenant.Limits{}, `
			local function deep() return 1 + deep() end
			deep()
			return 1`, runtime.RuntimeError, "test.lua:2|*"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, h *harness) {
				r := h.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: test.source, Scripts: []fs.FS{modules}, Limits: test.limits,
				})
				if r.Error == nil || r.Error.Type != test.kind {
					t.Fatalf("got %s and %v, want %s", r.JSON, r.Error, test.kind)
				}
				if got := placeAndStack(r.Error); !matches(got, test.want) {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

// placeAndStack returns where an error happened, and its frames as line function.
func placeAndStack(e *runtime.Error) string {
	text := fmt.Sprintf("%s:%d", e.File, e.Line)
	for _, f := range e.Stack {
		text += fmt.Sprintf("|%d %s", f.Line, f.Function)
	}
	return text
}

// matches reports whether text is as pattern, in which each * stands for anything.
func matches(text, pattern string) bool {
	first, rest, any := strings.Cut(pattern, "*")
	if text, ok := strings.CutPrefix(text, first); ok && any {
		for i := range len(text) + 1 {
			if matches(text[i:], rest) {
				return true
			}
		}
	}
	return !any && text == pattern
}

func TestCancellationHasThePlaceOfTheRun(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		for _, why := range []error{errors.New("by the caller"), runtime.Shutdown{}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			r := h.Invoke(ctx, runtime.Invocation{Tenant: "a", Script: "test.lua", Source: "local function work()\n native.sleep(20000) return 1 end\nwork()\nreturn 1"})
			if r.Error == nil || placeAndStack(r.Error) != "test.lua:2|2 work|3 main chunk" {
				t.Errorf("%v: got %+v", why, r.Error)
			}
		}
	})
}

func TestMessagesHideWhatTheCompilerAdds(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{`local t = {} t.a, t.b = t.x.y, 1`, "attempt to index field 'x' (a nil value)"},
		{`local t, i = {}, 1 i, t[i].x = 2, 3`, "attempt to index field '?' (a nil value): its key is 1"},
		{`local a, b = nil, 1 a.x, b = 1, 2`, "attempt to index local 'a' (a nil value)"},
		{`for k, v in rows do end`, "attempt to call global 'rows' (a nil value): 'in' takes an iterator, such as pairs(t)"},
		{`local rows = {} for k, v in rows do end`, "attempt to call local 'rows' (a table value): a loop over a table is 'in pairs(rows)' or 'in ipairs(rows)'"},
		{`local r = {} for k, v in r.x.y do end`, "attempt to index field 'x' (a nil value)"},
		{`local r = {} for k, v in (function() return r end)() do end`, "attempt to call a table value: a loop over a table is 'in pairs(...)' or 'in ipairs(...)'"},
		{`local x return ("a" .. x) .. "b"`, "attempt to concatenate local 'x' (a nil value)"},
		{`return (native.db.null).x`, "attempt to index field 'null' (a null value)"},
		{`local v = native.json.decode("[null]") return v[1].x`, "attempt to index field '?' (a null value)"},
		{`local v = native.json.null return v + 1`, "attempt to perform arithmetic on local 'v' (a null value)"},
		{`local v = native.json.null return "a" .. v`, "attempt to concatenate local 'v' (a null value)"},
		{`local x return #x`, "attempt to get length of local 'x' (a nil value)"},
		{`local t = {} return #t.x + 1`, "attempt to get length of field 'x' (a nil value)"},
		{`local t = {} t.list[#t.list + 1] = 1`, "attempt to get length of field 'list' (a nil value)"},
		{`local n for i = 1, n do end`, "'for' limit must be a number (local 'n' is a nil value)"},
		{`local t = {} for i = t.first, 3 do end`, "'for' initial value must be a number (field 'first' is a nil value)"},
		{`local t = {} for i = 1, t.last, t.step do end`, "'for' limit must be a number (field 'last' is a nil value)"},
		{`local t = {} for i = 1, 2, t.step do end`, "'for' step must be a number (field 'step' is a nil value)"},
		{`for i = 1, "x" do end`, "'for' limit must be a number"},
		{`local v = native.json.null return v < 1`, "attempt to compare null with number (local 'v' is a null value)"},
		{`local db = native.db.open("p") return db()`, "attempt to call local 'db' (a partition value)"},
	} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			r := h.Run(t, "a", test.source)
			if r.Error == nil || !strings.HasSuffix(r.Error.Message, ":1: "+test.want) {
				t.Errorf("%s:\n got  %v\n want %s", test.source, r.Error, test.want)
			}
		})
	}
}

func TestMessagesSayWhatWasProbablyMeant(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{`native.db.opne("p")`, "attempt to call field 'opne' (a nil value), did you mean 'open'?"},
		{`native.jsn.encode(1)`, "attempt to index field 'jsn' (a nil value), did you mean 'json'?"},
		{`local db = native.db db.opne("p")`, "attempt to call field 'opne' (a nil value), did you mean 'open'?"},
		{`local p = native.db.open("p") p:gett("x")`, "attempt to call method 'gett' (a nil value), did you mean 'get'?"},
		{`pritn("x")`, "attempt to call global 'pritn' (a nil value), did you mean 'print'?"},
		{`strin.upper("x")`, "attempt to index global 'strin' (a nil value), did you mean 'string'?"},
		{`string.uper("x")`, "attempt to call field 'uper' (a nil value), did you mean 'upper'?"},
		{`local M = { trim = function() end, count = 5 } M.tirm()`, "attempt to call field 'tirm' (a nil value), did you mean 'trim'?"},
		{`local M = { trim = function() end, count = 5 } M.cuont()`, "attempt to call field 'cuont' (a nil value)"},
		{`local C = { name = function() end } C.__index = C local o = setmetatable({}, C) o:nmae()`, "attempt to call method 'nmae' (a nil value), did you mean 'name'?"},
		{`native.db.frobnicate()`, "attempt to call field 'frobnicate' (a nil value)"},
		{`local t = {} function t.get(self) return self.x end t.get()`, "attempt to index local 'self' (a nil value): was the function called with a dot instead of a colon?"},
		{`local t = {} function t:get() return self.x end t.get()`, "attempt to index local 'self' (a nil value): was the function called with a dot instead of a colon?"},
	} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			r := h.Run(t, "a", test.source)
			if r.Error == nil || !strings.HasSuffix(r.Error.Message, ":1: "+test.want) {
				t.Errorf("%s:\n got  %v\n want %s", test.source, r.Error, test.want)
			}
		})
	}
}
