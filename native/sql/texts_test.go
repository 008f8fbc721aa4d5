package sql_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

// errorTexts returns what a script sees of the error of each statement.
func errorTexts(t *testing.T, h *harness, statements ...string) []string {
	t.Helper()
	list := make(value.List, len(statements))
	for i, s := range statements {
		list[i] = s
	}
	r := h.run(t.Context(), "a", `
		local out = {}
		for i, text in ipairs((...)) do
			local ok, err = pcall(function() return native.sql.open("main"):query(text) end)
			out[i] = ok and "done" or tostring(err) .. "\n" .. native.json.encode({ err.code, err.message, err.op, err.key, err.applied or native.json.null })
		end
		return out`, list)
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	var texts []string
	if err := json.Unmarshal(r.JSON, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

// failures are statements whose errors the servers describe with names of the
// connection.
var failures = map[string][]string{
	"postgres": {
		"SELEC 1", "SELECT * FROM nope", "SELECT nope FROM texts", "SELECT 1/0", "INSERT INTO texts VALUES (1, 'b', 1)", "SELECT 'x'::int",
		"INSERT INTO texts VALUES (2, 'b', 77)", "INSERT INTO texts VALUES (2, NULL, 1)", "CREATE SCHEMA s", "CREATE TEMPORARY TABLE x (a int)",
		"SELECT * FROM hidden", "SELECT * FROM pg_authid", "SELECT * FROM apart.x", "DROP TABLE texts", "SET ROLE postgres", "CREATE DATABASE x", "ALTER SYSTEM SET work_mem = 1",
		"SELECT pg_read_file('/etc/passwd')", "SET SESSION AUTHORIZATION postgres", "CREATE ROLE x", "CREATE PUBLICATION p", "SELECT pg_sleep(1/0)",
		"DO $$ BEGIN RAISE 'no %', 1; END $$", "SELECT pg_terminate_backend(pg_backend_pid())",
	},
	"mysql": {
		"SELEC 1", "SELECT * FROM nope", "SELECT nope FROM texts", "INSERT INTO texts VALUES (1, 'b', 1)", "INSERT INTO texts VALUES ('x', 'b', 1)",
		"INSERT INTO texts VALUES (2, 'b', 77)", "INSERT INTO texts VALUES (2, NULL, 1)", "INSERT INTO texts VALUES (2, 'b', 1)", "UPDATE parents SET id = 9",
		"INSERT INTO dates VALUES ('x')", "INSERT INTO dates (d) VALUES ('2024-99-01')", "SELECT CAST(0 AS UNSIGNED) - id FROM texts", "SELECT id - 1 FROM unsigned_texts",
		"CALL nope()", "SELECT nope(1)", "DROP TABLE nope", "SELECT * FROM hidden", "SELECT * FROM mysql.user", "CREATE DATABASE x", "GRANT ALL ON *.* TO x",
		"SELECT LOAD_FILE('/etc/passwd') FROM nope", "SELECT 1 INTO OUTFILE '/tmp/x'", "SET GLOBAL max_connections = 1", "CREATE USER x", "KILL 1", "CREATE TABLE texts (a INT)",
		"CREATE TABLE fk (a INT, FOREIGN KEY (a) REFERENCES nope (a))", "SHOW CREATE VIEW texts",
		"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'", "DROP DATABASE nope", "USE nope", "KILL CONNECTION_ID()",
	},
}

// restricted prepares what failures are about, and a user with few privileges. It
// returns the connection of the user, whose names nothing else has.
func restricted(t *testing.T, driver string, c sql.Connection, secret string) sql.Connection {
	t.Helper()
	admin := newHarness(t, map[string]sql.Connection{"main": c})
	quoted := strings.ReplaceAll(secret, "'", "''")
	if driver == "mysql" {
		quoted = strings.ReplaceAll(quoted, `\`, `\\`)
	}
	statements := map[string][]string{
		"postgres": {
			"DROP DATABASE IF EXISTS xdatabasex WITH (FORCE)", "DROP ROLE IF EXISTS xuserx", "CREATE ROLE xuserx LOGIN PASSWORD '" + quoted + "'", "CREATE DATABASE xdatabasex",
			"REVOKE ALL ON DATABASE xdatabasex FROM PUBLIC", "GRANT CONNECT ON DATABASE xdatabasex TO xuserx",
		},
		"mysql": {
			"DROP DATABASE IF EXISTS xdatabasex", "CREATE DATABASE xdatabasex", "DROP USER IF EXISTS xuserx@'%'", "DROP USER IF EXISTS xuserx@localhost",
			"CREATE USER xuserx@'%' IDENTIFIED BY '" + quoted + "'", "CREATE USER xuserx@localhost IDENTIFIED BY '" + quoted + "'",
			"CREATE TABLE xdatabasex.texts (id INT PRIMARY KEY, text TEXT NOT NULL, n INT CHECK (n < 50), parent INT AS (id) STORED)",
			"CREATE TABLE xdatabasex.unsigned_texts (id INT UNSIGNED PRIMARY KEY)", "INSERT INTO xdatabasex.unsigned_texts VALUES (0)",
			"CREATE TABLE xdatabasex.parents (id INT PRIMARY KEY)", "INSERT INTO xdatabasex.parents VALUES (1)", "CREATE TABLE xdatabasex.dates (d DATETIME)",
			"CREATE TABLE xdatabasex.hidden (id INT)", "DROP TABLE xdatabasex.texts",
			"CREATE TABLE xdatabasex.texts (id INT PRIMARY KEY, text TEXT NOT NULL, n INT, CHECK (n < 50), FOREIGN KEY (id) REFERENCES xdatabasex.parents (id))",
			"INSERT INTO xdatabasex.texts VALUES (1, 'a', 1)",
			"GRANT SELECT, INSERT, UPDATE ON xdatabasex.texts TO xuserx@'%'", "GRANT SELECT, INSERT, UPDATE ON xdatabasex.texts TO xuserx@localhost",
			"GRANT SELECT, UPDATE ON xdatabasex.parents TO xuserx@'%'", "GRANT SELECT, UPDATE ON xdatabasex.parents TO xuserx@localhost",
			"GRANT SELECT, INSERT ON xdatabasex.dates TO xuserx@'%'", "GRANT SELECT, INSERT ON xdatabasex.dates TO xuserx@localhost",
			"GRANT SELECT, INSERT ON xdatabasex.unsigned_texts TO xuserx@'%'", "GRANT SELECT, INSERT ON xdatabasex.unsigned_texts TO xuserx@localhost",
		},
	}[driver]
	run := func(h *harness, statements []string) {
		for i, text := range errorTexts(t, h, statements...) {
			if text != "done" {
				t.Fatalf("%s: %s", statements[i], text)
			}
		}
	}
	run(admin, statements)
	if driver == "postgres" {
		inside := c
		inside.Database = "xdatabasex"
		run(newHarness(t, map[string]sql.Connection{"main": inside}), []string{
			"CREATE TABLE texts (id INT PRIMARY KEY, text TEXT NOT NULL, n INT CHECK (n < 50))", "INSERT INTO texts VALUES (1, 'a', 1)",
			"GRANT SELECT, INSERT, UPDATE ON texts TO xuserx", "CREATE TABLE hidden (id INT)", "CREATE SCHEMA apart",
		})
	}
	c.User, c.Database, c.Password = "xuserx", "xdatabasex", passwordOf(secret)
	return c
}

func TestTextsOfStatementsHaveNoNamesOfTheConnection(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			c := restricted(t, driver, connection(t), "xpasswordx")
			h := newHarness(t, map[string]sql.Connection{"main": c})
			shown := 0
			for i, text := range errorTexts(t, h, failures[driver]...) {
				statement := failures[driver][i]
				t.Logf("%s: %s", statement, strings.Split(text, "\n")[0])
				if text == "done" {
					t.Errorf("%s: want an error", statement)
				}
				for _, name := range []string{"xuserx", "xdatabasex", "xpasswordx", "127.0.0.1", "localhost", "@"} {
					if strings.Contains(text, name) {
						t.Errorf("%s: %s: has %s", statement, text, name)
					}
				}
				if !strings.Contains(text, "only the log of the host") {
					shown++
				}
			}
			if shown < len(failures[driver])*3/4 {
				t.Errorf("%d of %d texts are of use", shown, len(failures[driver]))
			}
		})
	}
}

// TestTextsDoNotDependOnThePassword runs the same statements under passwords that
// servers' texts and the statements contain, and under one that they don't.
func TestTextsDoNotDependOnThePassword(t *testing.T) {
	const other = "zebra-5512"
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			plain := connection(t)
			run := func(secret string) []string {
				h := newHarness(t, map[string]sql.Connection{"main": restricted(t, driver, plain, secret)})
				texts := errorTexts(t, h, failures[driver]...)
				for _, guess := range []string{"e", "SELECT", "error", "texts", "2", "database", "zebra-5512", "'"} {
					texts = append(texts, errorTexts(t, h,
						"SELEC '"+strings.ReplaceAll(guess, "'", "''")+"'", "SELECT * FROM no_"+fmt.Sprintf("%x", guess), "SELECT \""+guess+"\" FROM texts")...)
				}
				return texts
			}
			want := run(other)
			for _, secret := range []string{"e", "SELECT", "error", "texts", "database", "2", "'"} {
				if got := run(secret); !slices.Equal(got, want) {
					for i := range got {
						if got[i] != want[i] {
							t.Errorf("password %q: got %s, want %s", secret, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

// TestTextsOfConnectingHaveNoValues gives each field of a connection odd values,
// and looks for them in what the script sees.
func TestTextsOfConnectingHaveNoValues(t *testing.T) {
	odd := []string{
		"xoddx", "select", "", "a", "the", "connection", "10.1.2.3", "postgres://xuserx:xpwx@xhostx/xdbx", "xuserx:xpwx@tcp(xhostx:3306)/xdbx", `x"'\x`, "x\nx",
		"server", "127.0.0.1", "refused", "x%sx", "/nowhere/xsocketx", "xn--a", strings.Repeat("long", 100),
	}
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			seen := map[string]bool{}
			for field, set := range map[string]func(*sql.Connection, string){
				"host": func(c *sql.Connection, v string) { c.Host = v }, "user": func(c *sql.Connection, v string) { c.User = v },
				"database": func(c *sql.Connection, v string) { c.Database = v }, "password": func(c *sql.Connection, v string) { c.Password = passwordOf(v) },
				"driver": func(c *sql.Connection, v string) { c.Driver = v },
			} {
				for _, v := range odd {
					c := connection(t)
					set(&c, v)
					var mu sync.Mutex
					var causes []string
					h := newHarness(t, map[string]sql.Connection{"main": c}, func(o *sql.Options) {
						o.Failed = func(_ tenant.ID, e *outcome.Error) {
							mu.Lock()
							defer mu.Unlock()
							causes = append(causes, e.Cause.Error())
						}
					})
					text := errorTexts(t, h, "SELECT 1")[0]
					if text == "done" {
						continue // the server takes "" for a database, for example
					}
					seen[text] = true
					if field == "host" && strings.Contains(v, "@") && !strings.Contains(text, "its host is neither") {
						t.Errorf("host %q: got %s: it may have been looked up", v, text)
					}
					fixed := slices.ContainsFunc([]string{"can't connect to the server: ", "the server refused the connection: ", "its host is neither", "doesn't have its driver"},
						func(part string) bool { return strings.Contains(text, part) })
					if !fixed || strings.Contains(text, "xoddx") || strings.Contains(text, "xpwx") || strings.Contains(text, "xuserx") || strings.Contains(text, "xhostx") {
						t.Errorf("%s %q: got %s", field, v, text)
					}
					mu.Lock()
					if field != "driver" && len(causes) == 0 {
						t.Errorf("%s %q: the operator learns no cause", field, v)
					}
					for _, cause := range causes {
						if strings.Contains(cause, "xpwx") || field == "password" && v != "" && strings.Contains(cause, v) && !strings.Contains("the text of this error contains the password", v) {
							t.Errorf("%s %q: the cause is %s", field, v, cause)
						}
					}
					mu.Unlock()
				}
			}
			// So few texts that none of them can have been made from a value.
			if len(seen) > 12 {
				t.Errorf("%d texts: %v", len(seen), seen)
			}
		})
	}
}
