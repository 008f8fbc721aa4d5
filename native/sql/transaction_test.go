package sql_test

import (
	"fmt"
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
)

func TestTransactionRefusesStatementsThatEndIt(t *testing.T) {
	statements := map[string][]string{
		"postgres": {"--x\rCOMMIT /*\nSELECT 1 */", "/* /* */ COMMIT -- */ SELECT 1", "PREPARE TRANSACTION 'x'", "DO $$ BEGIN COMMIT; END $$"},
		"mysql": {
			"/* /* */ COMMIT -- */ SELECT 1", "ROLLBACK /* /* */ -- */ TO x", "CREATE TABLE more (x integer)", "create/**/or replace table held (y integer)",
			"DROP TABLE held", "ALTER TABLE held ADD y integer", "TRUNCATE TABLE held", "RENAME TABLE held TO more", "SET autocommit = 1",
			"SET @a = 1, SESSION AutoCommit = 0", "LOCK TABLES held WRITE", "UNLOCK TABLES", "EXECUTE IMMEDIATE 'COMMIT'", "ANALYZE TABLE held",
			"CREATE INDEX i ON held (x)", "GRANT SELECT ON *.* TO root@localhost", "SET PASSWORD FOR stranger = PASSWORD('x')", "/*!50000 COMMIT */",
			"CREATE USER stranger", "FLUSH TABLES",
		},
		"sqlite": {"/* /* */ COMMIT -- */ SELECT 1", "ROLLBACK /* /* */ -- */ TO x", "PRAGMA journal_mode = DELETE", "VACUUM"},
	}
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			for _, statement := range statements[driver] {
				for _, verb := range []string{"exec", "query"} {
					h.expect(t, `["sql_failed","no",1,1]`, fmt.Sprintf(`
						local db, refused = native.sql.open("main")
						pcall(db.transaction, db, function(tx)
							tx:exec("UPDATE t SET x = 2")
							refused = select(2, pcall(tx.%s, tx, %q))
							error("roll back")
						end)
						return { refused.code, refused.applied, db:query("SELECT x FROM t")[1].x, db:query("SELECT x FROM held")[1].x }`, verb, statement))
				}
			}
		})
	}
}

func TestTransactionAllowsHarmlessStatements(t *testing.T) {
	h := newHarness(t, map[string]sql.Connection{"main": toMariaDB(t)})
	prepare(t, h)
	h.expect(t, `[5,1]`, `
		local db = native.sql.open("main")
		local seen = db:transaction(function(tx)
			tx:exec("SET @a = 5")
			tx:exec("CREATE TEMPORARY TABLE passing (x integer)")
			tx:exec("INSERT INTO passing SELECT @a")
			local x = tx:query("SELECT x FROM passing")[1].x
			tx:exec("DROP TEMPORARY TABLE passing")
			tx:exec("DO SLEEP(0)")
			tx:exec("SAVEPOINT a")
			tx:exec("UPDATE t SET x = 7")
			tx:exec("ROLLBACK TO a")
			return x
		end)
		return { seen, db:query("SELECT x FROM t")[1].x }`)
}

// After the server has rolled back by itself, each statement would be on its own.
func TestTransactionThatTheServerRolledBackRefusesStatements(t *testing.T) {
	failures := map[string]string{
		"postgres": "INSERT INTO nowhere VALUES (1)",
		"mysql":    "SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE held SET x = 2",
		"sqlite":   "INSERT OR ROLLBACK INTO narrow VALUES (1)",
	}
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			if driver == "sqlite" {
				h.expect(t, "1", `
					local db = native.sql.open("main")
					db:exec("CREATE TABLE narrow (x integer PRIMARY KEY)")
					return db:exec("INSERT INTO narrow VALUES (1)").affected`)
			} else {
				defer hold(t, h)()
			}
			h.expect(t, `[false,false,"sql_failed","sql_failed","no",1]`, fmt.Sprintf(`
				local db, first, second, inside = native.sql.open("main")
				local ok, err = pcall(db.transaction, db, function(tx)
					tx:exec("UPDATE t SET x = 2")
					first = pcall(tx.exec, tx, %q)
					second, inside = pcall(tx.exec, tx, "UPDATE t SET x = x + 10")
				end)
				return { first, second, inside.code, err.code, err.applied, db:query("SELECT x FROM t")[1].x }`, failures[driver]))
		})
	}
}

func TestTransactionIsRolledBackWithItsSession(t *testing.T) {
	id := map[string]string{"postgres": "SELECT pg_backend_pid() AS id", "mysql": "SELECT CONNECTION_ID() AS id"}
	end := map[string]string{"postgres": "SELECT pg_terminate_backend(%d, 10000)", "mysql": "KILL %d"}
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t), "other": connection(t)})
			prepare(t, h)
			h.expect(t, `["sql_unknown","sql_unavailable","no",1]`, fmt.Sprintf(`
				local db, other, inside = native.sql.open("main"), native.sql.open("other")
				local ok, err = pcall(db.transaction, db, function(tx)
					tx:exec("UPDATE t SET x = 2")
					other:exec((%q):format(tx:query(%q)[1].id))
					inside = select(2, pcall(tx.exec, tx, "UPDATE t SET x = 3"))
				end)
				return { inside.code, err.code, err.applied, db:query("SELECT x FROM t")[1].x }`, end[driver], id[driver]))
		})
	}
}

func TestProcedureThatEndsTheTransactionIsNoticed(t *testing.T) {
	h := newHarness(t, map[string]sql.Connection{"main": toMariaDB(t)})
	prepare(t, h)
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		h.expect(t, `["sql_unknown","unknown",true]`, `
			local db = native.sql.open("main")
			db:exec("DROP PROCEDURE IF EXISTS ends")
			db:exec("CREATE PROCEDURE ends() BEGIN `+end+`; END")
			local ok, err = pcall(db.transaction, db, function(tx)
				tx:exec("UPDATE t SET x = 5")
				tx:exec("CALL ends()")
				tx:exec("UPDATE t SET x = 6") -- would commit by itself
			end)
			return { err.code, err.applied, err.message:find("has ended its transaction") ~= nil }`)
		h.expect(t, map[string]string{"COMMIT": "5", "ROLLBACK": "1"}[end], `
			local db = native.sql.open("main")
			local x = db:query("SELECT x FROM t")[1].x
			db:exec("UPDATE t SET x = 1")
			return x`)
	}
}

func TestStatementsCommitWhateverTheServersDefaultIs(t *testing.T) {
	h := newHarness(t, map[string]sql.Connection{"main": toMariaDB(t)})
	prepare(t, h)
	h.expect(t, "true", `native.sql.open("main"):exec("SET GLOBAL autocommit = 0") return true`)
	defer h.expect(t, "true", `native.sql.open("main"):exec("SET GLOBAL autocommit = 1") return true`)
	fresh := newHarness(t, map[string]sql.Connection{"main": toMariaDB(t)})
	fresh.expect(t, "1", `return native.sql.open("main"):exec("UPDATE t SET x = 9").affected`)
	h.expect(t, "9", `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
}
