package sql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// lateMax is when a call that has not returned at its end counts as stuck: what
// is interrupted here takes a minute. The promise is 50 ms; a machine that does
// other things at the same time is late by itself, so the lag is only logged.
const lateMax = 20 * time.Second

// limit is the time of what is interrupted here.
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

// prepare makes the tables that those statements use.
func prepare(t *testing.T, h *host) {
	t.Helper()
	h.expect(t, "null", `
		local db = native.sql.open("main")
		for _, name in ipairs { "t", "held" } do
			db:exec("DROP TABLE IF EXISTS " .. name)
			db:exec("CREATE TABLE " .. name .. " (x integer)")
			db:exec("INSERT INTO " .. name .. " VALUES (1)")
		end`)
}

// hold locks the row of the table held, or with SQLite all, until release is
// called.
func hold(t *testing.T, h *host) (release func()) {
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

// running is a statement that counts what is marked among the statements that
// the server executes.
var running = map[string]string{
	"postgres": `SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()`,
	"mysql":    `SELECT count(*) AS n FROM information_schema.processlist WHERE info LIKE '%marked%' AND id <> connection_id()`,
}

// waitUntilStopped waits until the server executes nothing that is marked.
func waitUntilStopped(t *testing.T, h *host, driver string) {
	t.Helper()
	waitForRunning(t, h, driver, false)
}

// waitForRunning waits until the server executes something that is marked, or
// nothing.
func waitForRunning(t *testing.T, h *host, driver string, any bool) {
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
	for time.Since(began) < lateMax {
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
		time.Sleep(5 * time.Millisecond) // between two questions
	}
	t.Errorf("the server executes something: %v, want %v", !any, any)
}

func TestEveryCallEndsWithItsDeadlineAndTheServerStops(t *testing.T) {
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			for name, body := range endless[driver] {
				t.Run(name, func(t *testing.T) {
					if name == "a lock wait" {
						defer hold(t, h)()
					}
					began, logged := time.Now(), len(h.log.String())
					h.expect(t, `["deadline exceeded",true]`, fmt.Sprintf(`
						local db, limit = native.sql.open("main"), %d
						local began = native.time()
						local ok, err = pcall(native.deadline.with, limit, function() %s end)
						print(("late by %%.1f ms"):format((native.time() - began) * 1000 - limit))
						-- The run goes on, and so do its connections.
						return { err, #db:query("SELECT 1 AS a") == 1 }`, limit.Milliseconds(), body))
					_, late, _ := strings.Cut(h.log.String()[logged:], "late by ")
					t.Log("late by", late)
					if took := time.Since(began); took > limit+lateMax {
						t.Errorf("it took %v", took)
					}
					waitUntilStopped(t, h, driver)
				})
			}
			if driver != "sqlite" {
				h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`) // all was undone
			}
		})
	}
}

func TestTheLockIsFreeAtOnceWhenTheServerHasStopped(t *testing.T) {
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			// Patient, because a busy machine is slow to answer: then the outcome of a
			// write is unknown, and the lock runs out.
			h := newHost(t, map[string]sql.Connection{"main": connection(t)}, func(o *sql.Options) { o.CancelGrace = lateMax })
			prepare(t, h)
			for name, body := range endless[driver] {
				t.Run(name, func(t *testing.T) {
					if name == "a lock wait" {
						defer hold(t, h)()
					}
					h.expect(t, `"deadline exceeded"`, fmt.Sprintf(`
						local db = native.sql.open("main")
						db:query("SELECT 1 AS a") -- the connection is there, and the server executes when the end comes
						return (select(2, pcall(native.lock.with, %q, { lease_ms = %d }, function() %s end)))`,
						name, limit.Milliseconds(), body))
					if got := h.released.Load().How; got != lock.Freed {
						t.Errorf("the lock was %v, want it to be freed", got)
					}
				})
			}
		})
	}
}

// writes and readings are calls that a server which has gone silent doesn't
// answer.
var (
	writes = map[string]string{
		"exec":        `db:exec("UPDATE t SET x = 5")`,
		"query":       `db:query("SELECT 1 AS a")`,
		"transaction": `tx:exec("UPDATE t SET x = 5")`,
		"commit":      ``,
	}
	readings = map[string]string{
		"each":      `for _ in db:each("SELECT 1 AS a") do end`,
		"stream":    `db:stream("SELECT 1 AS a"):read(1)`,
		"read-only": `native.sql.open("reader"):query("SELECT 1 AS a")`,
	}
)

func TestAServerThatHasGoneSilentHoldsNobodyUp(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			direct := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, direct)
			try := func(t *testing.T, body string, want lock.ReleaseResult) {
				t.Parallel() // each waits for a server that doesn't answer
				c := connection(t)
				p := through(t, &c)
				reader := c
				reader.ReadOnly = true
				h := newHost(t, map[string]sql.Connection{"main": c, "reader": reader})
				h.expect(t, `null`, `for _, name in ipairs { "main", "reader" } do native.sql.open(name):query("SELECT 1 AS a") end`)
				source := `
					local db = native.sql.open("main")
					local _, err = pcall(native.lock.with, "l", { lease_ms = 400 }, function()
						` + body + `
					end)
					return err`
				r := runStalling(t, h, source, func() { p.stall() })
				p.cut() // so that closing is quick
				p.release()
				released := h.released.Load()
				t.Logf("%v late", released.Over)
				if r != `"deadline exceeded"` || released.How != want {
					t.Errorf("got %s, and the lock was %v, want it to be %v", r, released.How, want)
				}
				if released.Over > lateMax {
					t.Errorf("it ended %v late", released.Over)
				}
			}
			for name, body := range writes {
				t.Run(name, func(t *testing.T) {
					if name == "transaction" || name == "commit" {
						body = `db:transaction(function(tx) stall() ` + body + ` end)`
					} else {
						body = `stall() ` + body
					}
					// What became of the write isn't known, so the row runs out.
					try(t, body, lock.Kept)
				})
			}
			for name, body := range readings {
				t.Run(name, func(t *testing.T) {
					try(t, `stall() `+body, lock.Freed)
				})
			}
			t.Run("before it has let us in", func(t *testing.T) {
				t.Parallel()
				c := connection(t)
				p := through(t, &c)
				p.stall()
				h := newHost(t, map[string]sql.Connection{"main": c})
				h.expect(t, `"deadline exceeded"`, `
					return (select(2, pcall(native.lock.with, "l", { lease_ms = 400 }, function()
						native.sql.open("main"):exec("UPDATE t SET x = 5")
					end)))`)
				p.cut()
				p.release()
				if released := h.released.Load(); released.How != lock.Freed || released.Over > lateMax {
					t.Errorf("the lock was %v %v late", released.How, released.Over)
				}
			})
		})
	}
}

// runStalling runs a script in which the function stall stops the proxy.
func runStalling(t *testing.T, h *host, source string, stall func()) string {
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

func TestTheServerStopsWhenALoopIsLeft(t *testing.T) {
	// The first rows come at once; the last one takes a minute.
	statements := map[string]string{
		"postgres": `SELECT i, CASE WHEN i = 5000 THEN pg_sleep(60) END /* marked */ FROM generate_series(1, 5000) i`,
		"mysql":    `SELECT seq, IF(seq = 20000, SLEEP(60), 0) AS x /* marked */ FROM seq_1_to_20000`,
	}
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			stall := func() { waitForRunning(t, h, driver, true) }
			h.onStall.Store(&stall)
			h.expect(t, "null", fmt.Sprintf(`for _ in native.sql.open("main"):each(%q) do native.test.stall() break end`, statements[driver]))
			waitForRunning(t, h, driver, false)
		})
	}
}

func TestNothingIsSentOnceTheCallHasEnded(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			c, err := h.db.Open("a", "main", sql.NewOpenRows())
			if err != nil {
				t.Fatal(err)
			}
			// A run whose clock jumps past its end after the gate: the process was
			// stopped there.
			clk := &jumping{Clock: clock.System()}
			run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
			defer run.Close()
			ctx := run.Context()
			defer ctx.Stop()
			ctx.Done() // somebody waits
			clk.jump(time.Hour)
			_, err = c.Exec(ctx, sql.Statement{Text: "UPDATE t SET x = 7"})
			if sql.Unknown(err) || err == nil {
				t.Errorf("got %v, want to know that nothing was sent", err)
			}
			h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
		})
	}
}

func TestAHostThatShutsDownEndsCalls(t *testing.T) {
	for driver, connection := range places {
		t.Run(driver, func(t *testing.T) {
			h := newHost(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			r := h.run(ctx, "a", `local db = native.sql.open("main") `+endless[driver]["a transaction"], nil)
			if r.Error == nil || time.Since(began) > limit+lateMax {
				t.Errorf("got %v after %v", r.Error, time.Since(began))
			}
			waitUntilStopped(t, h, driver)
			h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
		})
	}
}
