package sql_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// lagMax is the lag after its end at which a call counts as stuck: an interrupted
// statement would take a minute. The contract is 50 ms; a busy machine is late by
// itself, so the lag is only logged.
const lagMax = 20 * time.Second

// limit is the time limit of the interrupted calls.
const limit = 400 * time.Millisecond

// endless are statements that take a minute, by driver, as parts of a script.
var endless = map[string]map[string]string{
	"postgres": {
		"a query":                  `db:query("SELECT pg_sleep(60) /* marked */")`,
		"a query with parameters":  `db:query("SELECT pg_sleep($1), $2 /* marked */", 60, "x")`,
		"a statement that writes":  `db:exec("UPDATE t SET x = x FROM pg_sleep(60) /* marked */")`,
		"the first step of a loop": `for _ in db:each("SELECT pg_sleep(60) /* marked */") do end`,
		"a later step of a loop":   `for _ in db:each("SELECT i, pg_sleep(i) /* marked */ FROM generate_series(0, 60, 60) i") do end`,
		"a loop over millions":     `for _ in db:each("SELECT generate_series(1, 1000000000) AS i /* marked */") do end`,
		"a query of millions":      `db:query("SELECT count(*) /* marked */ FROM pg_attribute a, pg_attribute b, pg_attribute c")`,
		"a transaction":            `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") tx:query("SELECT pg_sleep(60) /* marked */") end)`,
		"Lua in a transaction":     `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2 /* marked */") while true do end end)`,
		"a stream":                 `db:stream("SELECT pg_sleep(60) /* marked */"):read(100)`,
		"a lock wait":              `db:exec("UPDATE held SET x = 2 /* marked */")`,
	},
	"mysql": {
		"a query":                  `db:query("SELECT SLEEP(60) /* marked */")`,
		"a query with parameters":  `db:query("SELECT SLEEP(?), ? /* marked */", 60, "x")`,
		"a statement that writes":  `db:exec("UPDATE t SET x = SLEEP(60) /* marked */")`,
		"the first step of a loop": `for _ in db:each("SELECT SLEEP(60) /* marked */") do end`,
		"a later step of a loop":   `for _ in db:each("SELECT seq, SLEEP(seq) /* marked */ FROM seq_0_to_60_step_60") do end`,
		"a loop over millions":     `for _ in db:each("SELECT seq /* marked */ FROM seq_1_to_1000000000") do end`,
		"a query of millions":      `db:query("SELECT count(*) /* marked */ FROM seq_1_to_10000000000 WHERE seq % 7 = 8")`,
		"a transaction":            `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") tx:query("SELECT SLEEP(60) /* marked */") end)`,
		"Lua in a transaction":     `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2 /* marked */") while true do end end)`,
		"a stream":                 `db:stream("SELECT SLEEP(60) /* marked */"):read(100)`,
		"a lock wait":              `db:exec("UPDATE held SET x = 2 /* marked */")`,
	},
	"sqlite": {
		"a query":                  `db:query("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c")`,
		"a statement that writes":  `db:exec("INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c WHERE n < 0")`,
		"the first step of a loop": `for _ in db:each("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c WHERE n < 0") do end`,
		"a later step of a loop":   `for _ in db:each("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c WHERE n < 2") do end`,
		"a loop over millions":     `for _ in db:each("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c") do end`,
		"a transaction":            `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") tx:query("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c") end)`,
		"Lua in a transaction":     `db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") while true do end end)`,
		"a lock wait":              `db:exec("UPDATE held SET x = 2")`,
	},
}

// prepare creates the tables that the statements use.
func prepare(t *testing.T, h *harness) {
	t.Helper()
	h.expect(t, "null", `
		local db = native.sql.open("main")
		for _, name in ipairs { "t", "held" } do
			db:exec("DROP TABLE IF EXISTS " .. name)
			db:exec("CREATE TABLE " .. name .. " (x integer)")
			db:exec("INSERT INTO " .. name .. " VALUES (1)")
		end`)
}

// hold locks the row of the table held, or with SQLite the file, until release is
// called.
func hold(t *testing.T, h *harness) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	held, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		c, err := h.db.Open("holder", "main", sql.NewOpenRows())
		if err != nil {
			t.Error(err)
			return
		}
		tx, err := c.Begin(ctx)
		if err == nil {
			_, err = tx.Exec(ctx, sql.Statement{Text: "UPDATE held SET x = 3"})
		}
		if err != nil {
			t.Error(err)
			close(held)
			return
		}
		close(held)
		<-ctx.Done()
		tx.Rollback(context.Background())
	}()
	<-held
	return func() {
		cancel()
		<-done
	}
}

// running is a statement that counts the marked statements that the server
// executes.
var running = map[string]string{
	"postgres": `SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()`,
	"mysql":    `SELECT count(*) AS n FROM information_schema.processlist WHERE info LIKE '%marked%' AND id <> connection_id()`,
}

// waitUntilStopped waits until the server executes no marked statement.
func waitUntilStopped(t *testing.T, h *harness, driver string) {
	t.Helper()
	waitForRunning(t, h, driver, false)
}

// waitForRunning waits until the server executes a marked statement, or with any
// false none.
func waitForRunning(t *testing.T, h *harness, driver string, any bool) {
	t.Helper()
	statement, ok := running[driver]
	if !ok {
		return
	}
	c, err := h.db.Open("observer", "main", sql.NewOpenRows())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for time.Since(began) < lagMax {
		rows, err := c.Query(t.Context(), sql.Statement{Text: statement})
		if err != nil {
			t.Fatal(err)
		}
		row, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		busy := row[0] != sql.Number(0)
		if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if any == busy {
			return
		}
		time.Sleep(5 * time.Millisecond) // between two queries
	}
	t.Errorf("the server executes something: %v, want %v", !any, any)
}

// runStalling runs a script in which the function stall stops the proxy.
func runStalling(t *testing.T, h *harness, source string, stall func()) string {
	t.Helper()
	h.onStall.Store(&stall)
	r := h.run(t.Context(), "a", "local stall = native.test.stall\n"+source, nil)
	for _, incident := range r.Incidents {
		t.Error(incident)
	}
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	return string(r.JSON)
}
