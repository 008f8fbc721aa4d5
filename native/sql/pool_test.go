package sql_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
)

func TestSessionIsResetBeforeItsNextUse(t *testing.T) {
	leftovers := map[string][]string{
		"postgres": {
			`db:exec("SET search_path TO nowhere")`, `db:exec("SET timezone TO 'Asia/Tokyo'")`, `db:query("SELECT set_config('timezone', 'Asia/Tokyo', false)")`,
			`db:exec("CREATE TEMP TABLE left (x int)")`, `db:query("SELECT pg_advisory_lock(7)")`, `db:exec("PREPARE left AS SELECT 1")`,
			`pcall(db.transaction, db, function(tx) tx:exec("SET LOCAL timezone TO 'Asia/Tokyo'") error("x") end)`, `db:exec("LISTEN left")`,
			`db:exec("SET ROLE pg_monitor")`, `db:exec("SET SESSION AUTHORIZATION pg_monitor")`, `db:exec("DECLARE left CURSOR WITH HOLD FOR SELECT 1")`,
		},
		"mysql": {
			`db:exec("SET time_zone = '+09:00'")`, `db:exec("SET @left = 1")`, `db:query("SELECT @left := 1")`, `db:exec("CREATE TEMPORARY TABLE left_ (x int)")`,
			`db:query("SELECT GET_LOCK('left', 0)")`, `db:exec("SET autocommit = 0")`, `db:exec("LOCK TABLES t WRITE")`, `db:exec("USE mysql")`,
			`db:exec("/*!50000 SET @left = 1 */")`, `db:exec("PREPARE left_ FROM 'SELECT 1'")`,
			`db:exec("INSERT INTO numbered (x) VALUES (1)")`, `db:query("SELECT 'a' + 5, x FROM t")`, `db:query("SELECT LAST_INSERT_ID (7)")`,
			`db:exec("INSERT INTO nowhere VALUES (1)")`, `db:query("SELECT SQL_CALC_FOUND_ROWS x FROM t UNION ALL SELECT 2 UNION ALL SELECT 3 LIMIT 1")`,
			`db:query("/* /* */ SET time_zone = '+09:00' -- */ SELECT 1")`, `db:query("SELECT 1 /*!, @left := 1 */")`,
		},
		"sqlite": {`db:exec("CREATE TEMP TABLE left_ (x int)")`, `db:exec("CREATE TEMP VIEW left_ AS SELECT 1")`, `db:exec("INSERT INTO t VALUES (1)")`},
	}
	checks := map[string]string{
		"postgres": `SELECT current_setting('timezone') = 'UTC' AND current_setting('search_path') LIKE '%public%'
			AND (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') = 0 AND (SELECT count(*) FROM pg_prepared_statements WHERE name = 'left') = 0
			AND to_regclass('pg_temp.left') IS NULL AND (SELECT count(*) FROM pg_listening_channels()) = 0
			AND current_user = session_user AND session_user = 'postgres' AND (SELECT count(*) FROM pg_cursors WHERE name = 'left') = 0 AS clean`,
		"mysql": `SELECT @@time_zone = '+00:00' AND @left IS NULL AND IS_FREE_LOCK('left') AND @@autocommit = 1 AND database() = 'test'
			AND LAST_INSERT_ID() = 0 AND FOUND_ROWS() <= 1 AND ROW_COUNT() = -1 AND @@warning_count = 0 AND @@error_count = 0 AS clean`,
		"sqlite": `SELECT (SELECT count(*) FROM sqlite_temp_master) = 0 AND last_insert_rowid() = 0 AS clean`,
	}
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.MaxOpen = 1
			h := newHarness(t, map[string]sql.Connection{"main": c})
			prepare(t, h)
			if driver == "mysql" {
				h.expect(t, "0", `return native.sql.open("main"):exec("CREATE OR REPLACE TABLE numbered (id integer PRIMARY KEY AUTO_INCREMENT, x integer)").affected`)
			}
			for _, leftover := range leftovers[driver] {
				r := h.run(t.Context(), "a", fmt.Sprintf(`
					local db = native.sql.open("main")
					pcall(function() %s end)
					return db:query(%q)[1].clean`, leftover, checks[driver]), nil)
				if got := string(r.JSON); got != "true" && got != "1" {
					t.Errorf("after %s: %s %v", leftover, got, r.Error)
				}
			}
		})
	}
}

func TestPoolBoundsItsConnections(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			p := withProxy(t, &c)
			c.MaxOpen = 2
			h := newHarness(t, map[string]sql.Connection{"main": c})
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					h.expect(t, `1`, `
						local db, a = native.sql.open("main")
						for i = 1, 5 do a = db:query("SELECT 1 AS a")[1].a end
						return a`)
				})
			}
			wg.Wait()
			// Nothing here makes a connection unusable for the next call.
			if n := p.count(); n > 2 {
				t.Errorf("%d connections were made, want at most 2", n)
			}
		})
	}
}

func TestPoolThatIsInUseIsBusyInTime(t *testing.T) {
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.MaxOpen = 1
			h := newHarness(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) { o.WaitMax = 100 * time.Millisecond })
			h.expect(t, `["sql_busy",true,"exec","no"]`, `
				local db = native.sql.open("main")
				return db:transaction(function()
					local ok, err = pcall(db.exec, db, "DELETE FROM t")
					return { err.code, err.retryable, err.op, err.applied }
				end)`)
			// A loop is closed when its connection is needed.
			h = newHarness(t, map[string]sql.Connection{"main": c})
			h.expect(t, `[1,"sql_closed"]`, `
				local db = native.sql.open("main")
				local step, rows = db:each("SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4")
				step(rows)
				local a = db:query("SELECT 1 AS a")[1].a
				local ok, err = pcall(function() for i = 1, 4 do step(rows) end end)
				return { a, err.code }`)
		})
	}
}

func TestPoolReplacesConnectionsThatDiedWhileIdle(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			p := withProxy(t, &c)
			clk := &jumpingClock{Clock: clock.System()}
			h := newHarness(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) { o.Clock = clock.NewDual(clk) })
			write := func() {
				t.Helper()
				h.expect(t, `1`, `return native.sql.open("main"):exec("UPDATE t SET x = x").affected`)
				h.db.WaitIdle()
			}
			prepare(t, h)
			write()
			for _, gap := range []time.Duration{2 * time.Second, 2 * time.Hour} {
				p.cut()
				clk.jump(gap) // as after a suspension: only the wall clock has moved on
				write()
			}
			before := p.count()
			clk.jump(2 * time.Second)
			write()
			if n := p.count(); n != before {
				t.Errorf("%d connections were made for one that is alive", n-before)
			}
			clk.jump(2 * time.Minute)
			write()
			if n := p.count(); n == before {
				t.Error("a connection was used that had been idle for two minutes")
			}
			before = p.count()
			for range 40 {
				clk.jump(50 * time.Second)
				write()
			}
			if n := p.count(); n == before {
				t.Error("a connection was used for more than half an hour")
			}
		})
	}
}

func TestInterruptsLeakNothing(t *testing.T) {
	const rounds = 200 // goleak checks when all tests are over
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			h := newHarness(t, map[string]sql.Connection{"main": c})
			prepare(t, h)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range rounds / 4 {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
						h.run(ctx, "a", `local db = native.sql.open("main") while true do `+endless[driver]["a query"]+` end`, nil)
						cancel()
					}
				})
			}
			wg.Wait()
			waitUntilStopped(t, h, driver)
			h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
		})
	}
}
