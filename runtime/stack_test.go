package runtime_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock-lua/tidelock/runtime"
)

func TestErrorStackLeadsToItsOrigin(t *testing.T) {
	modules := fstest.MapFS{
		"lib/orders.lua": {Data: []byte("local M = {}\nfunction M.find(id)\n  error('no order ' .. id)\nend\nreturn M\n")},
		"lib/broken.lua": {Data: []byte("\n\nerror('broken')\n")},
	}
	for _, test := range []struct {
		name, source string
		want         string // the message, and the frames as line function
	}{
		{"plain", `
			local function inner() error("e") end
			local function outer() inner() return 1 end
			outer()
			return 1`, "test.lua:2: e|2 inner|3 outer|4 main chunk"},
		{"in the function of the event", `
			local function inner() error("e") end
			return function()
				inner()
			end`, "test.lua:2: e|2 inner|4 function at test.lua:3"},
		{"a runtime error", `
			local function inner(t) return t.a.b end
			inner({})
			return 1`, "test.lua:2: attempt to index field 'a' (a nil value)|2 inner|3 main chunk"},
		{"after others that were caught", `
			local function fail() error("e", 0) end
			for i = 1, 3 do pcall(fail) pcall(native.deadline.with, 10, fail) pcall(coroutine.wrap(fail)) end
			local function again() error("e", 0) end
			again()
			return 1`, "e|4 again|5 main chunk"},
		{"raised again", `
			local function fail() error("e") end
			local ok, e = pcall(fail)
			error(e, 0)`, "test.lua:2: e|4 main chunk"},
		{"through native.deadline.with", `
			local function inner() error("e") end
			local function outer() inner() return 1 end
			native.deadline.with(10, outer)
			return 1`, "test.lua:2: e|2 inner|3 outer|4 main chunk"},
		{"through native.lock.with", `
			local function inner() error("e") end
			native.lock.with("l", function()
				inner()
			end)
			return 1`, "test.lua:2: e|2 inner|4 function at test.lua:3|3 main chunk"},
		{"of a lease that has ended", `
			local function job()
				native.lock.with("l", { lease_ms = 10 }, function() while true do end end)
			end
			job()
			return 1`, "deadline exceeded|3 function at test.lua:3|3 job|5 main chunk"},
		{"through a callback", `
			local function fail() error("e") end
			local function work() return (("a"):gsub("a", function() fail() return 1 end)) end
			work()
			return 1`, "test.lua:2: e|2 fail|3 function at test.lua:3|3 work|4 main chunk"},
		{"through a wrapped coroutine", `
			local function fail() error("e") end
			local co = coroutine.wrap(function() fail() return 1 end)
			local function work() co() return 1 end
			work()
			return 1`, "test.lua:4: test.lua:2: e|2 fail|3 function at test.lua:3|4 work|5 main chunk"},
		{"through require", `
			local orders = require("lib.orders")
			orders.find(7)
			return 1`, "lib/orders.lua:3: no order 7|3 find|3 main chunk"},
		{"while a module loads", `
			local function load() require("lib.broken") return 1 end
			load()
			return 1`, "lib/broken.lua:3: broken|3 main chunk|2 load|3 main chunk"},
		{"an error of a native call", `
			local function work() native.sleep("x") return 1 end
			work()
			return 1`, "test.lua:2: bad argument #1 to 'sleep' (ms: got string, want number)|2 work|3 main chunk"},
		{"an error table", `
			local function work() native.db.open("") return 1 end
			work()
			return 1`, `db_key in open: partition name "": want 1 to 64 of letters, digits, _ . and -, first a letter or digit|2 work|3 main chunk`},
		{"a name with quotes and lines", "\n\t\t\tlocal t = { ['it\\'s\\n\\tfake.lua:9: in function x'] = function() error('e') end }\n" +
			"\t\t\tt['it\\'s\\n\\tfake.lua:9: in function x']()\n\t\t\treturn 1", "test.lua:2: e|2 it's??fake.lua:9: in function x|3 main chunk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, h *harness) {
				r := h.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: test.source, Scripts: []fs.FS{modules},
				})
				if r.Error == nil {
					t.Fatalf("got %s, want an error", r.JSON)
				}
				got := r.Error.Message
				for _, f := range r.Error.Stack {
					got += fmt.Sprintf("|%d %s", f.Line, f.Function)
				}
				if got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				file := r.Error.Stack[0].File
				if module := strings.HasPrefix(test.want, "lib/"); module != strings.HasPrefix(file, "lib/") || r.Error.File != file {
					t.Errorf("got file %q of the error and %q of the first frame", r.Error.File, file)
				}
			})
		})
	}
}
