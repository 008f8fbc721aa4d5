package sql_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestOpenKnowsOnlyTheConnectionsOfItsTenant(t *testing.T) {
	one, two := toFile(t), toFile(t)
	h := newHarness(t, nil, func(o *sql.Options) {
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

func TestSQLiteReachesOnlyItsFile(t *testing.T) {
	other := toFile(t)
	c := toFile(t)
	h := newHarness(t, map[string]sql.Connection{"main": c, "other": other})
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

func TestReadOnlyRefusesWrites(t *testing.T) {
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			reader := c
			reader.ReadOnly = true
			h := newHarness(t, map[string]sql.Connection{"main": c, "reader": reader})
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

func TestControlForbidsAddresses(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := connection(t)
			c.Host = "localhost"
			var dialled []string
			h := newHarness(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) {
				o.Control = func(_, address string, _ syscall.RawConn) error {
					dialled = append(dialled, address)
					return errors.New("it is metadata")
				}
			})
			h.expect(t, `["sql_unavailable",false,"can't connect to the server: the host forbids its address"]`, `
				local ok, err = pcall(function() native.sql.open("main"):query("SELECT 1") end)
				return { err.code, err.retryable, err.message }`)
			for _, address := range dialled {
				if host, _, err := net.SplitHostPort(address); err != nil || net.ParseIP(host) == nil {
					t.Errorf("control got %s, want an address", address)
				}
			}
			if len(dialled) == 0 {
				t.Error("control was not called")
			}
		})
	}
}

func TestConnectionOverASocket(t *testing.T) {
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
		h := newHarness(t, map[string]sql.Connection{"main": c})
		h.expect(t, `1`, `return native.sql.open("main"):query("SELECT 1 AS a")[1].a`)
	}
}
