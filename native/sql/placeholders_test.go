package sql_test

import (
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/sql"
)

func TestPlaceholders(t *testing.T) {
	for text, want := range map[string][2]bool{
		"SELECT ?": {true, false}, "SELECT $1": {false, true}, "SELECT '?', \"$1\", `?` -- $1\n/* ? */": {}, "SELECT 'it''s', ?": {true, false},
		"SELECT $$, '": {}, "": {}, "/*": {}, "SELECT a ? b AND $2": {true, true},
	} {
		if question, dollar := sql.Placeholders(text); question != want[0] || dollar != want[1] {
			t.Errorf("%q: got %v, %v, want %v", text, question, dollar, want)
		}
	}
}

func TestPlaceholdersOfAnotherDatabaseAreExplained(t *testing.T) {
	for driver, test := range map[string]struct{ script, want string }{
		"postgres": {`db:query("SELECT * FROM t WHERE x = ?", 1)`, "the placeholders of PostgreSQL are $1, $2 and so on, not ?"},
		"mysql":    {`db:query("SELECT * FROM t WHERE x = $1", 1)`, "the placeholders of MySQL and MariaDB are ?, not $1"},
	} {
		h := newHarness(t, map[string]sql.Connection{"main": servers[driver](t)})
		prepare(t, h)
		for _, script := range []string{
			test.script, strings.Replace(test.script, "SELECT * FROM t", "UPDATE t SET x = 1", 1), strings.Replace(strings.Replace(test.script, "SELECT * FROM t", "UPDATE t SET x = 1", 1), "query", "exec", 1),
			strings.Replace(test.script, " 1)", " 'a')", 1), strings.Replace(test.script, ", 1)", ")", 1),
		} {
			h.expect(t, `["sql_failed",true]`, `
				local db = native.sql.open("main")
				local ok, err = pcall(function() `+script+` end)
				return { err.code, err.message:find("; `+test.want+`", 1, true) ~= nil or err.message }`)
		}
	}
	h := newHarness(t, map[string]sql.Connection{"main": toPostgres(t)})
	h.expect(t, `"SQLSTATE 08P01: the statement has 1 placeholders, and 2 values were given"`, `
		return select(2, pcall(function() native.sql.open("main"):query("SELECT $1::int", 1, 2) end)).message`)
}
