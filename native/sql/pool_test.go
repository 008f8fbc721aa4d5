package sql_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestATenantHasItsOwnConnectionsAndSeesNoOthers(t *testing.T) {
	one, two := toFile(t), toFile(t)
	h := newHost(t, nil, func(o *sql.Options) {
		o.Connections = func(id tenant.ID) map[string]sql.Connection {
			return map[tenant.ID]map[string]sql.Connection{"a": {"main": one}, "b": {"main": two, "secret-of-b": two}}[id]
		}
	})
	for _, id := range []tenant.ID{"a", "b"} {
		r := h.run(t.Context(), id, `
			local db = native.sql.open("main")
			db:exec("CREATE TABLE whose (name text)")
			db:exec("INSERT INTO whose VALUES (?)", native.context.tenant)
			return db:query("SELECT * FROM whose")`, nil)
		if want := fmt.Sprintf(`[{"name":%q}]`, id); string(r.JSON) != want {
			t.Errorf("got %s %v, want %s", r.JSON, r.Error, want)
		}
	}
	r := h.run(t.Context(), "a", `return tostring(select(2, pcall(native.sql.open, "secret-of-c")))`, nil)
	if strings.Contains(string(r.JSON), "of-b") {
		t.Errorf("another tenant's connection is named: %s", r.JSON)
	}
}

func TestAScriptOfAFileReachesNothingElse(t *testing.T) {
	other := toFile(t)
	c := toFile(t)
	h := newHost(t, map[string]sql.Connection{"main": c, "other": other})
	h.expect(t, `null`, `native.sql.open("other"):exec("CREATE TABLE secrets (x)")`)
	for _, statement := range []string{
		"ATTACH DATABASE '" + other.File + "' AS o", "ATTACH ':memory:' AS o", "DETACH main",
		"VACUUM INTO '" + other.File + ".copy'", "VACUUM",
		"PRAGMA journal_mode = OFF", "PRAGMA writable_schema = 1", "PRAGMA temp_store_directory = '/tmp'", "PRAGMA query_only = 0",
		"PRAGMA database_list", "SELECT * FROM pragma_database_list", "PRAGMA busy_timeout = 1000000",
		"SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')",
		"INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 2, 'x')",
		"SELECT zeroblob(100000000)", "SELECT hex(zeroblob(10000000))",
	} {
		for _, verb := range []string{"exec", "query"} {
			r := h.run(t.Context(), "a", fmt.Sprintf(`
				local db = native.sql.open("main")
				local ok, err = pcall(db.%s, db, %q)
				return { ok, err.code }`, verb, statement), nil)
			if got := string(r.JSON); got != `[false,"sql_failed"]` {
				t.Errorf("%s %s: %s %v", verb, statement, got, r.Error)
			}
		}
	}
	h.expect(t, `true`, `return #native.sql.open("main"):query("SELECT * FROM pragma_table_info('x')") == 0`)
}

func TestWhatReadsOnlyCantWrite(t *testing.T) {
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			reader := c
			reader.ReadOnly = true
			h := newHost(t, map[string]sql.Connection{"main": c, "reader": reader})
			prepare(t, h)
			h.expect(t, `[1,1,1]`, `
				local db = native.sql.open("reader")
				local seen = {}
				for row in db:each("SELECT x FROM t") do seen[1] = row.x end
				seen[2] = db:query("SELECT x FROM t")[1].x
				seen[3] = db:transaction(function(tx) return tx:query("SELECT x FROM t")[1].x end)
				return seen`)
			for _, statement := range []string{
				"UPDATE t SET x = 2", "DELETE FROM t", "CREATE TABLE more (x integer)", "DROP TABLE t", "SET x = 1",
				"WITH a AS (SELECT 1) DELETE FROM t", "EXPLAIN ANALYZE DELETE FROM t", "WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM a",
			} {
				for _, call := range []string{"db:exec(s)", "db:query(s)", "db:transaction(function(tx) tx:exec(s) end)"} {
					r := h.run(t.Context(), "a", fmt.Sprintf(`
						local db, s = native.sql.open("reader"), %q
						local ok, err = pcall(function() %s end)
						return ok or err.code`, statement, call), nil)
					harmless := driver == "sqlite" && strings.HasPrefix(statement, "EXPLAIN") // it explains
					if got := string(r.JSON); got != `"sql_failed"` && !harmless {
						t.Errorf("%s by %s: %s %v", statement, call, got, r.Error)
					}
				}
			}
			h.expect(t, `[{"x":1}]`, `return native.sql.open("main"):query("SELECT x FROM t")`)
		})
	}
}

func TestNothingOfASessionIsLeftToTheNext(t *testing.T) {
	leavings := map[string][]string{
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
	looks := map[string]string{
		"postgres": `SELECT current_setting('timezone') = 'UTC' AND current_setting('search_path') LIKE '%public%'
			AND (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') = 0 AND (SELECT count(*) FROM pg_prepared_statements WHERE name = 'left') = 0
			AND to_regclass('pg_temp.left') IS NULL AND (SELECT count(*) FROM pg_listening_channels()) = 0
			AND current_user = session_user AND session_user = 'postgres' AND (SELECT count(*) FROM pg_cursors WHERE name = 'left') = 0 AS clean`,
		"mysql": `SELECT @@time_zone = '+00:00' AND @left IS NULL AND IS_FREE_LOCK('left') AND @@autocommit = 1 AND database() = 'test'
			AND LAST_INSERT_ID() = 0 AND FOUND_ROWS() <= 1 AND ROW_COUNT() = -1 AND @@warning_count = 0 AND @@error_count = 0 AS clean`,
		"sqlite": `SELECT (SELECT count(*) FROM sqlite_temp_master) = 0 AND last_insert_rowid() = 0 AS clean`,
	}
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.MaxOpen = 1
			h := newHost(t, map[string]sql.Connection{"main": c})
			prepare(t, h)
			if driver == "mysql" {
				h.expect(t, "0", `return native.sql.open("main"):exec("CREATE OR REPLACE TABLE numbered (id integer PRIMARY KEY AUTO_INCREMENT, x integer)").affected`)
			}
			for _, leave := range leavings[driver] {
				r := h.run(t.Context(), "a", fmt.Sprintf(`
					local db = native.sql.open("main")
					pcall(function() %s end)
					return db:query(%q)[1].clean`, leave, looks[driver]), nil)
				if got := string(r.JSON); got != "true" && got != "1" {
					t.Errorf("after %s: %s %v", leave, got, r.Error)
				}
			}
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			p := through(t, &c)
			c.MaxOpen = 2
			h := newHost(t, map[string]sql.Connection{"main": c})
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
			// With MariaDB nothing here makes a connection unfit for the next.
			if n := p.count(); n > 2 {
				t.Errorf("%d connections were made, want at most 2", n)
			}
		})
	}
}

func TestWhoFindsAllConnectionsInUseIsToldInTime(t *testing.T) {
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.MaxOpen = 1
			h := newHost(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) { o.WaitMax = 100 * time.Millisecond })
			h.expect(t, `["sql_busy",true,"exec","no"]`, `
				local db = native.sql.open("main")
				return db:transaction(function()
					local ok, err = pcall(db.exec, db, "DELETE FROM t")
					return { err.code, err.retryable, err.op, err.applied }
				end)`)
			// A loop gives way to what needs its connection.
			h = newHost(t, map[string]sql.Connection{"main": c})
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

func TestAConnectionThatDiedWhileIdleIsReplaced(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			p := through(t, &c)
			clk := &jumping{Clock: clock.System()}
			h := newHost(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) { o.Clock = clock.NewDual(clk) })
			write := func() {
				t.Helper()
				h.expect(t, `1`, `return native.sql.open("main"):exec("UPDATE t SET x = x").affected`)
				h.db.Settle()
			}
			prepare(t, h)
			write()
			for _, gap := range []time.Duration{2 * time.Second, 2 * time.Hour} {
				p.cut()
				clk.jump(gap) // as after a thaw: the wall clock alone has moved on
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

func TestAWriteWhoseConnectionBreaksHasNoKnownOutcome(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			observer := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, observer)
			sleep := map[string]string{"postgres": "pg_sleep(60)", "mysql": "SLEEP(60)"}[driver]
			for _, test := range []struct{ body, want string }{
				{`db:exec("UPDATE t SET x = 2 WHERE ` + sleep + ` IS NULL /* marked */")`, `["sql_unknown","unknown",false,false]`},
				{`db:query("SELECT ` + sleep + ` /* marked */")`, `["sql_unknown","unknown",false,false]`},
				{`for _ in db:each("SELECT ` + sleep + ` /* marked */") do end`, `["sql_unavailable",null,true,true]`},
				{`db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") stall() end)`, `["sql_unknown","unknown",false,false]`},
			} {
				c := connection(t)
				p := through(t, &c)
				h := newHost(t, map[string]sql.Connection{"main": c})
				var cutting sync.WaitGroup
				stall := func() {
					held := p.stall()
					cutting.Go(func() {
						<-held // the commit
						p.cut()
						p.release()
					})
				}
				if !strings.Contains(test.body, "stall()") {
					cutting.Go(func() {
						waitForRunning(t, observer, driver, true)
						p.cut()
					})
				}
				got := runStalling(t, h, `
					local db = native.sql.open("main")
					local ok, err = pcall(native.lock.with, native.context.run_id, { lease_ms = 40000 }, function()
						`+test.body+`
					end)
					local free = native.lock.with(native.context.run_id, function() end)
					return { err.code, err.applied or native.json.null, err.retryable, free }`, stall)
				cutting.Wait()
				waitForRunning(t, observer, driver, false)
				if got != test.want {
					t.Errorf("%s: got %s, want %s", test.body, got, test.want)
				}
			}
		})
	}
}

func TestAForbiddenAddressIsNotDialled(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.Host = "localhost"
			var asked []string
			h := newHost(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) {
				o.Control = func(_, address string, _ syscall.RawConn) error {
					asked = append(asked, address)
					return errors.New("it is metadata")
				}
			})
			h.expect(t, `["sql_unavailable",false,"can't connect to \"localhost\": the host forbids its address"]`, `
				local ok, err = pcall(function() native.sql.open("main"):query("SELECT 1") end)
				return { err.code, err.retryable, err.message }`)
			for _, address := range asked {
				if host, _, err := net.SplitHostPort(address); err != nil || net.ParseIP(host) == nil {
					t.Errorf("asked for %s, want an address", address)
				}
			}
			if len(asked) == 0 {
				t.Error("nobody was asked")
			}
		})
	}
}

func TestAServerIsReachedByItsSocket(t *testing.T) {
	pg, err := thePostgres()
	if err != nil {
		t.Fatal(err)
	}
	maria, err := theMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	for driver, connection := range servers {
		c := connection(t)
		if driver == "postgres" {
			c.Host = pg.Socket
		} else {
			c.Host = maria.Socket
		}
		h := newHost(t, map[string]sql.Connection{"main": c})
		h.expect(t, `1`, `return native.sql.open("main"):query("SELECT 1 AS a")[1].a`)
	}
}

func TestLargeResultsAreRefusedBeforeTheyAreHeld(t *testing.T) {
	big := map[string]string{
		"postgres": `SELECT repeat('x', 4000000) AS s`, "mysql": `SELECT repeat('x', 4000000) AS s`, "sqlite": `SELECT hex(zeroblob(1000000)) AS s`,
	}
	many := map[string]string{
		"postgres": `SELECT generate_series(1, 10000000) AS n`, "mysql": `SELECT seq FROM seq_1_to_10000000`,
		"sqlite": `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c`,
	}
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)}, func(o *sql.Options) { o.ResultBytesMax = 1 << 20 })
			tooLarge := `"sql_too_large"`
			if driver == "sqlite" {
				tooLarge = `"sql_failed"` // SQLite says so itself
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
			// What is kept counts as memory of the run.
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

func TestAThousandInterruptsLeaveNothingBehind(t *testing.T) {
	const rounds = 200 // goleak looks when all tests are over
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			h := newHost(t, map[string]sql.Connection{"main": c})
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

func TestAConflictSaysThatItMayBeTriedAgain(t *testing.T) {
	// Two transactions that have met there; each then wants what the other has.
	scripts := map[string][2]string{
		"postgres": {
			`tx:exec("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE") tx:query("SELECT x FROM t") stall() tx:exec("UPDATE held SET x = x + 1")`,
			`tx:exec("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE") tx:query("SELECT x FROM held") stall() tx:exec("UPDATE t SET x = x + 1")`,
		},
		"mysql": {
			`tx:exec("UPDATE t SET x = 2") stall() tx:exec("UPDATE held SET x = 2")`,
			`tx:exec("UPDATE held SET x = 3") stall() tx:exec("UPDATE t SET x = 3")`,
		},
	}
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			var met sync.WaitGroup
			met.Add(2)
			meet := func() { met.Done(); met.Wait() }
			h.onStall.Store(&meet)
			results := make(chan string, 2)
			for _, body := range scripts[driver] {
				go func() {
					r := h.run(t.Context(), "a", `
						local stall = native.test.stall
						local ok, err = pcall(function() native.sql.open("main"):transaction(function(tx) `+body+` end) end)
						return ok and "done" or { err.code, err.retryable, err.applied }`, nil)
					results <- string(r.JSON)
				}()
			}
			got := []string{<-results, <-results}
			if !slices.Contains(got, `["sql_conflict",true,"no"]`) || !slices.Contains(got, `"done"`) {
				t.Errorf("got %v", got)
			}
		})
	}
}
