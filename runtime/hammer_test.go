package runtime_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// endings are scripts that end in all ways that exist.
var endings = []struct {
	source string
	kind   runtime.ErrorType // "" for success
}{
	{`return 1`, ""},
	{`error("failed")`, runtime.RuntimeError},
	{`error({ code = "failed" })`, runtime.Raised},
	{`x = = 1`, runtime.SyntaxError},
	{`return { print }`, runtime.NotSerializable},
	{`while true do end`, runtime.Timeout},
	{`native.sleep(1e6)`, runtime.Timeout},
	{`native.lock.with("l" .. math.random(1e9), function() while true do end end)`, runtime.Timeout},
	{`native.lock.with("l" .. math.random(1e9), { lease_ms = 5 }, function() while true do end end)`, runtime.RuntimeError},
	{`for i = 1, 10 do local co = coroutine.wrap(function() coroutine.yield() end) co() end error("with suspended coroutines")`, runtime.RuntimeError},
	{`local co = coroutine.wrap(function() native.deadline.with(1000, function() while true do end end) end) co()`, runtime.Timeout},
	{`for i = 1, 2000 do local co = coroutine.wrap(function() coroutine.yield() end) co() keep = { co, keep } end`, runtime.LimitExceeded},
	{`native.test.panic()`, runtime.RuntimeError},
	{`local function f() return 1 + f() end f()`, runtime.RuntimeError},
	{`local p = native.db.open("p") return p:add("n", 1)`, ""},
}

func TestRunLeavesNoGoroutineHoweverItEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	inFakeTime(t, func(t *testing.T, h *harness) {
		limits := tenant.Limits{Timeout: 300 * time.Millisecond, Coroutines: 50}
		const runs = 1000
		for i := range runs {
			ending := endings[i%len(endings)]
			checkEnding(t, h.runLimited(t, limits, ending.source), ending.source, ending.kind)
		}
	})
}

func checkEnding(t *testing.T, r *runtime.Result, source string, kind runtime.ErrorType) {
	t.Helper()
	var got runtime.ErrorType
	if r.Error != nil {
		got = r.Error.Type
	}
	if got != kind {
		t.Errorf("%s: got %q (%v), want %q", source, got, r.Error, kind)
	}
}

func TestRunsAtOnceDoNotDisturbEachOther(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := newHarness(t, nil)
	const runs = 500
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			id := tenant.ID(fmt.Sprintf("t%d", i%7))
			source := fmt.Sprintf(`
				local n, words = 0, {}
				local co = coroutine.wrap(function() while true do n = n + 1 coroutine.yield(n) end end)
				for i = 1, 50 do words[i] = ("w%%d"):format(co()) pcall(error, i) end
				string.mine = %[1]d
				local p = native.db.open("p")
				native.lock.with("job", { scope = "local", wait_ms = 20000, lease_ms = 25000 }, function()
					p:put("n", (p:get("n") or 0) + 1)
				end)
				return { native.context.tenant, table.concat(words):len(), ("x").mine }`, i)
			r := h.Run(t, id, source)
			want := fmt.Sprintf(`[%q,141,%d]`, id, i)
			if r.Error != nil || string(r.JSON) != want {
				t.Errorf("run %d: got %s %v, want %s", i, r.JSON, r.Error, want)
			}
		})
	}
	all.Wait()
	for i := range 7 {
		id := tenant.ID(fmt.Sprintf("t%d", i))
		want := fmt.Sprint(runs/7 + map[bool]int{true: 1}[i < runs%7])
		if got := h.mustRun(t, id, `return native.db.open("p"):get("n")`); got != want {
			t.Errorf("tenant %s: got %s increments, want %s", id, got, want)
		}
	}
}

func TestModulePanicIsAnErrorOfTheCall(t *testing.T) {
	for _, scope := range []string{"db", "local"} {
		inFakeTime(t, func(t *testing.T, h *harness) {
			r := h.Run(t, "a", `native.lock.with("l", { scope = "`+scope+`" }, native.test.panic)`)
			checkError(t, r, runtime.RuntimeError, "internal error")
			if strings.Contains(fmt.Sprintf("%+v", r.Error), "secret") {
				t.Errorf("the panic's text is in the error %+v", r.Error)
			}
			if len(r.Incidents) != 1 || !strings.Contains(r.Incidents[0].Error(), "the secret of the host") {
				t.Errorf("got incidents %v, want the panic", r.Incidents)
			}
			checkFresh(t, h)
			// The script may catch it like any other error, wherever it comes from.
			for _, call := range []string{
				`native.test.panic`, `function() native.test.panic() end`, `coroutine.wrap(native.test.panic)`,
				`function() ("a"):gsub("a", native.test.panic) end`, `function() table.sort({ 2, 1 }, native.test.panic) end`,
				`function() return setmetatable({}, { __index = native.test.panic }).x end`,
				`function() tostring(setmetatable({}, { __tostring = native.test.panic })) end`,
				`function() for _ in native.test.panic do end end`,
				`function() native.db.open("p"):update("k", native.test.panic) end`,
				`function() native.deadline.with(1000, native.test.panic) end`,
				`function() assert(load(native.test.panic)) end`,
			} {
				got := h.mustRun(t, "a", `
					local ran, ok, e
					local upvalue = 1
					local function inc() upvalue = upvalue + 1 end
					ran = native.lock.with("l", { scope = "`+scope+`" }, function() ok, e = pcall(`+call+`) end)
					inc()
					return { ran, ok, tostring(e), upvalue }`)
				if want := `[true,false,"`; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `internal error",2]`) || strings.Contains(got, "secret") {
					t.Errorf("%s: got %s, want an internal error", call, got)
				}
			}
			h.checkUntouched(t, "all of them")
		})
	}
}
