package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestLimitEndsTheRunAndIsNamed(t *testing.T) {
	// No script can catch the end of its run.
	const catchAll = `
		local function act() %s end
		while true do pcall(act) xpcall(act, act) pcall(coroutine.wrap(act)) end`
	for _, test := range []struct {
		name   string
		limits tenant.Limits
		act    string
		kind   runtime.ErrorType
		want   string
	}{
		{"timeout", tenant.Limits{Timeout: 1500 * time.Millisecond}, ``, runtime.Timeout, "timeout of 1.5s"},
		{"timeout in a sleep", tenant.Limits{Timeout: time.Second}, `native.sleep(60000)`, runtime.Timeout, "timeout of 1s"},
		{"timeout by default", tenant.Limits{}, `native.sleep(1e6)`, runtime.Timeout, "timeout of 30s"},
		{"timeout under a lease", tenant.Limits{Timeout: 100 * time.Millisecond}, `native.lock.with("l", act)`, runtime.Timeout, "timeout of 100ms"},
		{"instructions", tenant.Limits{Instructions: 12345}, ``, runtime.LimitExceeded, "instructions of 12345"},
		{"instructions in the library", tenant.Limits{Instructions: 12345}, `("a"):rep(1e5):gsub("a", "b")`, runtime.LimitExceeded, "instructions of 12345"},
		{"coroutines", tenant.Limits{Coroutines: 7}, `
			for i = 1, 8 do
				local co = coroutine.wrap(function() coroutine.yield() end)
				co()
				keep = { co, keep }
			end`, runtime.LimitExceeded, "coroutines of 7"},
		{"memory of a string", tenant.Limits{MemoryBytes: 1 << 20}, `("x"):rep(2^20 + 1)`, runtime.LimitExceeded, "memory of 1048576"},
		{"memory of a huge string", tenant.Limits{}, `("x"):rep(1e15)`, runtime.LimitExceeded, "memory of 134217728"},
		{"memory of a concatenation", tenant.Limits{MemoryBytes: 1 << 20}, `
			local t = {}
			for i = 1, 2000 do t[i] = ("x"):rep(1000) end
			table.concat(t)`, runtime.LimitExceeded, "memory of 1048576"},
		{"log bytes", tenant.Limits{LogBytes: 1000}, `native.log.info(("x"):rep(400))`, runtime.LimitExceeded, "log_bytes of 1000"},
		{"log bytes of print", tenant.Limits{LogBytes: 1000}, `print(("x"):rep(400))`, runtime.LimitExceeded, "log_bytes of 1000"},
		{"log bytes of fields", tenant.Limits{LogBytes: 1000}, `native.log.info("", { a = { ("x"):rep(400) } })`, runtime.LimitExceeded, "log_bytes of 1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, h *harness) {
				r := h.runLimited(t, test.limits, fmt.Sprintf(catchAll, test.act))
				checkError(t, r, test.kind, test.want)
				if n := h.lockRows(t, "a"); n != 0 {
					t.Errorf("%d rows of locks are left", n)
				}
				checkFresh(t, h)
			})
		})
	}
}

func checkError(t *testing.T, r *runtime.Result, kind runtime.ErrorType, want string) {
	t.Helper()
	switch {
	case r.Error == nil:
		t.Errorf("got the result %.80s, want %s: %s", r.JSON, kind, want)
	case r.JSON != nil:
		t.Errorf("got the result %.80s beside the error %v", r.JSON, r.Error)
	case r.Error.Type != kind || !strings.Contains(r.Error.Message, want):
		t.Errorf("got %v, want %s: %s", r.Error, kind, want)
	}
}

// checkFresh fails the test if anything of a previous run is left.
func checkFresh(t *testing.T, h *harness) {
	t.Helper()
	h.Expect(t, `[null,"a",true]`, `
		local before = keep
		keep = 1
		return { before or native.json.null, ("A"):lower(), (native.lock.with("l", function() end)) }`)
}

func TestResultBytesAreExact(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		limits := tenant.Limits{ResultBytes: 1000}
		if r := h.runLimited(t, limits, `return ("x"):rep(998)`); r.Error != nil || len(r.JSON) != 1000 {
			t.Errorf("got %v and %d bytes, want 1000", r.Error, len(r.JSON))
		}
		checkError(t, h.runLimited(t, limits, `return ("x"):rep(999)`), runtime.ResultTooLarge, "more bytes than the 1000 that")
	})
}

// A budget that is used up is an error of the call: the script may go on
// without the table.
func TestDataOpsOverTheBudgetAreRefused(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		limits := tenant.Limits{DataOps: 3}
		for _, call := range []string{`p:get("k")`, `p:put("k", 1)`, `p:list()`, `native.lock.with("l", function() end)`} {
			source := `local p = native.db.open("p") for i = 1, 3 do p:get("k") end return ` + call
			r := h.runLimited(t, limits, source)
			checkError(t, r, runtime.Raised, "max_data_ops: all 3")
			if r.Error != nil && r.Error.Code != "db_budget" {
				t.Errorf("%s: got code %q, want db_budget", call, r.Error.Code)
			}
			if r.Counters.DataOps != 3 {
				t.Errorf("%s: got %d data operations, want 3", call, r.Counters.DataOps)
			}
		}
		h.checkUntouched(t, "all of them")
	})
}

func TestTimeoutCoversTheConversionOfTheResult(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		// The time passes while the results are turned into data.
		r := h.runLimited(t, tenant.Limits{Timeout: 100 * time.Millisecond}, `
			local t = {}
			for i = 1, 200 do t[i] = t end
			return setmetatable({}, { __index = function() while true do end end }), (function()
				pcall(native.sleep, 1000)
				return 1
			end)()`)
		checkError(t, r, runtime.Timeout, "timeout of 100ms")
	})
}

func TestInterruptIsNotMadeByTheTextOfAnError(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		for _, text := range []string{
			"deadline exceeded", "cancelled", "closed", "limit exceeded: memory (1)", "internal error", "context canceled", "the host is shutting down",
		} {
			checkError(t, h.Run(t, "a", fmt.Sprintf(`error(%q, 0)`, text)), runtime.RuntimeError, text)
			h.Expect(t, `"`+text+`"`, fmt.Sprintf(`local _, e = pcall(error, %q, 0) return e`, text))
		}
	})
}

func TestCancelledRunReportsTheCause(t *testing.T) {
	for _, test := range []struct {
		cause error
		kind  runtime.ErrorType
		want  string
	}{
		{errors.New("the caller has gone"), runtime.Cancelled, "cancelled: the caller has gone"},
		{runtime.Shutdown{}, runtime.HostShutdown, "the host is shutting down"},
	} {
		for _, act := range []string{`while true do pcall(act) end`, `pcall(native.sleep, 60000)`, `native.lock.turn("held", act)`} {
			inFakeTime(t, func(t *testing.T, h *harness) {
				h.holdLock(t, "a", "held")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(test.cause) })
				r := h.Invoke(ctx, runtime.Invocation{Tenant: "a", Script: "test.lua", Source: fmt.Sprintf(
					`native.lock.with("l", function() local function act() end %s end) native.db.open("p"):put("k", 1)`, act)})
				checkError(t, r, test.kind, test.want)
				if r.Duration < time.Second || r.Duration > 1010*time.Millisecond {
					t.Errorf("%s: ended after %v, want 1s", act, r.Duration)
				}
				if n := h.lockRows(t, "a"); n != 1 {
					t.Errorf("%s: %d rows of locks, want the one held elsewhere", act, n)
				}
			})
		}
	}
}

func TestErrorTextHasALargestSize(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *harness) {
		for _, raise := range []string{`error(("x"):rep(1e6), 0)`, `error({ message = ("x"):rep(1e6) })`} {
			r := h.Run(t, "a", raise)
			if r.Error == nil || len(r.Error.Message) > 9<<10 || !strings.HasSuffix(r.Error.Message, "...") {
				t.Errorf("%s: got %.100v", raise, r.Error)
			}
		}
	})
}
