package sql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestResultsOverTheLimitAreRefused(t *testing.T) {
	big := map[string]string{
		"postgres": `SELECT repeat('x', 4000000) AS s`, "mysql": `SELECT repeat('x', 4000000) AS s`, "sqlite": `SELECT hex(zeroblob(1000000)) AS s`,
	}
	many := map[string]string{
		"postgres": `SELECT generate_series(1, 10000000) AS n`, "mysql": `SELECT seq FROM seq_1_to_10000000`,
		"sqlite": `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c`,
	}
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)}, func(o *sql.Options) { o.ResultBytesMax = 1 << 20 })
			tooLarge := `"sql_too_large"`
			if driver == "sqlite" {
				tooLarge = `"sql_failed"` // SQLite refuses it by itself
			}
			for body, want := range map[string]string{
				`db:query(big)`: tooLarge, `for _ in db:each(big) do end`: tooLarge, `db:query(many)`: `"sql_too_large"`,
				`for row in db:each(many) do if (row.n or row.seq) == 20000 then error({ code = "enough" }) end end`: `"enough"`,
				`db:transaction(function(tx) pcall(tx.query, tx, many) tx:query("SELECT 1 AS a") end)`:               `"sql_unavailable"`,
			} {
				h.expect(t, want, fmt.Sprintf(`
					local db, big, many = native.sql.open("main"), %q, %q
					local ok, err = pcall(function() %s end)
					db:query("SELECT 1 AS a")
					return err.code`, big[driver], many[driver], body))
			}
			// Rows are charged to the run.
			r := h.Run(t.Context(), runtime.Invocation{
				Tenant: "a", Script: "test.lua", Log: h.log, Limits: tenant.Limits{MemoryBytes: 4 << 20, Timeout: time.Minute},
				Source: fmt.Sprintf(`local all = {} for row in native.sql.open("main"):each(%q) do all[#all + 1] = row end`, many[driver]),
			})
			if r.Error == nil || r.Error.Type != runtime.LimitExceeded {
				t.Errorf("got %v", r.Error)
			}
		})
	}
}

// Rows come in batches, but those that were fetched already are not returned after
// the end.
func TestRowsAreNotReturnedAfterTheEnd(t *testing.T) {
	many := map[string]string{
		"postgres": "SELECT generate_series(1, 1000) AS n", "mysql": "SELECT seq AS n FROM seq_1_to_1000",
		"sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 1000) SELECT n FROM c",
	}
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			clk := &jumpingClock{Clock: clock.System()}
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)}, func(o *sql.Options) { o.Clock = clock.NewDual(clk) })
			got := runStalling(t, h, fmt.Sprintf(`
				local db, n, err = native.sql.open("main"), 0
				local ended = select(2, pcall(native.lock.with, "l", { lease_ms = 20000 }, function()
					for row in db:each(%q) do
						n = n + 1
						if n == 40 then stall() end
					end
				end))
				return { ended, n }`, many[driver]), func() { clk.jump(30 * time.Second) })
			if got != `["deadline exceeded",40]` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestLoopThatIsLeftStopsTheServer(t *testing.T) {
	// The first rows come at once; the last one takes a minute.
	statements := map[string]string{
		"postgres": `SELECT i, CASE WHEN i = 5000 THEN pg_sleep(60) END /* marked */ FROM generate_series(1, 5000) i`,
		"mysql":    `SELECT seq, IF(seq = 20000, SLEEP(60), 0) AS x /* marked */ FROM seq_1_to_20000`,
	}
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			stall := func() { waitForRunning(t, h, driver, true) }
			h.onStall.Store(&stall)
			h.expect(t, "null", fmt.Sprintf(`for _ in native.sql.open("main"):each(%q) do native.test.stall() break end`, statements[driver]))
			waitForRunning(t, h, driver, false)
		})
	}
}
