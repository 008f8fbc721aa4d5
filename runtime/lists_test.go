package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// TestRunTakesAndReturnsLongLists runs within the default limits of memory and
// results.
func TestRunTakesAndReturnsLongLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event, refused := runtime.ParseEvent([]byte("[" + strings.Repeat("1,", 1_099_999) + "7]"))
		if refused != nil {
			t.Fatal(refused)
		}
		r := nativetest.New(t, nil).Invoke(t.Context(), runtime.Invocation{
			Tenant: "a", Script: "test.lua", Event: event,
			Limits: tenant.Limits{Timeout: time.Hour, MemoryBytes: 128 << 20, ResultBytes: 6 << 20},
			Source: `return function(event)
				assert(#event == 1100000 and event[1048576] == 1 and event[1100000] == 7)
				event[#event + 1] = 8
				local text = native.json.encode(event)
				local again = native.json.decode(text)
				assert(#again == 1100001 and again[1100001] == 8 and native.json.encode(again) == text)
				table.insert(again, 1, 9)
				return native.json.list(again)
			end`,
		})
		want := "[9," + strings.Repeat("1,", 1_099_999) + "7,8]"
		if r.Error != nil || string(r.JSON) != want {
			t.Errorf("got %d bytes, %v, want %d", len(r.JSON), r.Error, len(want))
		}
	})
}
