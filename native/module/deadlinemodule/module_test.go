package deadlinemodule_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../../docs/deadline.md", nil) }

func TestADeadlineMayBeNested(t *testing.T) {
	for _, test := range []struct{ name, want, source string }{
		{"results", `[1,"b"]`, `return {native.deadline.with(1000, function(...) return ... end, 1, "b")}`},
		{"trailing nils", `3`, `return select("#", native.deadline.with(1000, function() return nil, 1, nil end))`},
		{"an error that is a table", `"mine"`, `
			local t = {code = "mine"}
			local ok, err = pcall(native.deadline.with, 1000, error, t)
			return err == t and err.code`},
		{"the inner one first", `["deadline exceeded","went on"]`, `
			return native.deadline.with(1000, function()
				local _, err = pcall(native.deadline.with, 10, function() while true do end end)
				return {err, "went on"}
			end)`},
		{"the outer one first", `["deadline exceeded","never"]`, `
			local inner = "never"
			local _, err = pcall(native.deadline.with, 10, function()
				pcall(native.deadline.with, 1000, function() while true do end end)
				inner = "went on"
			end)
			return {err, inner}`},
		{"without a limit", `true`, `return native.deadline.remaining() <= 30000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { nativetest.New(t, nil).Expect(t, test.want, test.source) })
		})
	}
}

func TestRemainingCountsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nativetest.New(t, nil).Expect(t, `[500,200]`, `
			return native.deadline.with(500, function()
				local before = native.deadline.remaining()
				native.sleep(300)
				return {before, native.deadline.remaining()}
			end)`)
	})
}

func TestASleepStopsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		nativetest.New(t, nil).Expect(t, `"deadline exceeded"`, `
			return (select(2, pcall(native.deadline.with, 100, native.sleep, 86400000)))`)
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}
