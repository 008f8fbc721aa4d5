package logmodule_test

import (
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../../docs/log.md", nil) }

func TestPrintJoinsWhatTostringMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, nil)
		m.Expect(t, `null`, `print("a", 1, nil, true, setmetatable({}, {__tostring = function() return "mine" end}))`)
		if got, want := m.Log.String(), "info a\t1\tnil\ttrue\tmine"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestTooMuchLogEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, nil)
		r := m.Invoke(t.Context(), runtime.Invocation{
			Tenant: "a", Script: "test.lua", Limits: tenant.Limits{LogBytes: 2000},
			Source: `while true do pcall(print, ("x"):rep(98)) end`,
		})
		if r.Error == nil || r.Error.Type != runtime.LimitExceeded || !strings.Contains(r.Error.Message, "log_bytes of 2000") {
			t.Errorf("got %v", r.Error)
		}
		if n := strings.Count(m.Log.String(), "info"); n != 10 {
			t.Errorf("%d records were logged", n)
		}
	})
}

func TestNoRecordIsMadeThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, nil)
		// 1.6 GB, unless the words are counted before they are joined.
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		r := m.Run(t, "a", `
			local text, words = ("x"):rep(1e6), {}
			for i = 1, 1600 do words[i] = text end
			print(unpack(words))`)
		goruntime.ReadMemStats(&after)
		if r.Error == nil || !strings.Contains(r.Error.Message, "log_bytes") {
			t.Errorf("got %v", r.Error)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 100<<20 {
			t.Errorf("%d MiB were allocated", made>>20)
		}
	})
}
