package native_test

import (
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// A walk finds none of this until the call is over, and each would be several
// times the limit by then.
func TestChargerCountsWhatACallMakesBitByBit(t *testing.T) {
	for name, source := range map[string]string{
		"a table that lies in many places":  `local t = {1} for i = 1, 60 do t = {t, t} end native.json.encode(t)`,
		"a string that lies in many places": `local s, t = ("x"):rep(1e6), {} for i = 1, 100 do t[i] = s end native.json.encode(t)`,
		"a result":                          `local t = {1} for i = 1, 60 do t = {t, t} end return t`,
		"many small values":                 `native.json.decode("[" .. ("[],"):rep(1e6) .. "1]")`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := nativetest.New(t, nil)
				var before, after goruntime.MemStats
				goruntime.ReadMemStats(&before)
				r := m.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: source, Limits: tenant.Limits{MemoryBytes: 8 << 20},
				})
				goruntime.ReadMemStats(&after)
				if r.Error == nil || r.Error.Type != runtime.LimitExceeded || !strings.Contains(r.Error.Message, "memory") {
					t.Errorf("got %v", r.Error)
				}
				if made := after.TotalAlloc - before.TotalAlloc; made > 100<<20 {
					t.Errorf("%d MiB were allocated", made>>20)
				}
			})
		})
	}
}
