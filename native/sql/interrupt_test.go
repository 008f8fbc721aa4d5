package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/sql"
)

func TestCallEndsWithItsDeadlineAndTheServerStops(t *testing.T) {
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
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
					if took := time.Since(began); took > limit+lagMax {
						t.Errorf("it took %v", took)
					}
					waitUntilStopped(t, h, driver)
				})
			}
			if driver != "sqlite" {
				h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`) // all was rolled back
			}
		})
	}
}

func TestLockIsReleasedWhenTheServerHasStopped(t *testing.T) {
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			// A long grace, because a busy machine is slow to answer: then the
			// outcome of a write would be unknown, and the lock would be left
			// to expire.
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)}, func(o *sql.Options) { o.CancelGrace = lagMax })
			prepare(t, h)
			for name, body := range endless[driver] {
				t.Run(name, func(t *testing.T) {
					if name == "a lock wait" {
						defer hold(t, h)()
					}
					h.expect(t, `"deadline exceeded"`, fmt.Sprintf(`
						local db = native.sql.open("main")
						db:query("SELECT 1 AS a") -- so that the end comes while the server executes, not while it connects
						return (select(2, pcall(native.lock.with, %q, { lease_ms = %d }, function() %s end)))`,
						name, limit.Milliseconds(), body))
					if got := h.released.Load().Result; got != lock.Freed {
						t.Errorf("the lock was %v, want it to be freed", got)
					}
				})
			}
		})
	}
}

// writes and reads are calls that a silent server doesn't answer.
var (
	writes = map[string]string{
		"exec":        `db:exec("UPDATE t SET x = 5")`,
		"query":       `db:query("SELECT 1 AS a")`,
		"transaction": `tx:exec("UPDATE t SET x = 5")`,
		"commit":      ``,
	}
	readKeywords = map[string]string{
		"each":      `for _ in db:each("SELECT 1 AS a") do end`,
		"stream":    `db:stream("SELECT 1 AS a"):read(1)`,
		"read-only": `native.sql.open("reader"):query("SELECT 1 AS a")`,
	}
)

func TestCallEndsWhenTheServerIsSilent(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			direct := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, direct)
			try := func(t *testing.T, body string, want lock.ReleaseResult) {
				t.Parallel() // each waits for a server that doesn't answer
				c := connection(t)
				p := withProxy(t, &c)
				reader := c
				reader.ReadOnly = true
				h := newHarness(t, map[string]sql.Connection{"main": c, "reader": reader})
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
				t.Logf("%v late", released.Overrun)
				if r != `"deadline exceeded"` || released.Result != want {
					t.Errorf("got %s, and the lock was %v, want it to be %v", r, released.Result, want)
				}
				if released.Overrun > lagMax {
					t.Errorf("it ended %v late", released.Overrun)
				}
			}
			for name, body := range writes {
				t.Run(name, func(t *testing.T) {
					if name == "transaction" || name == "commit" {
						body = `db:transaction(function(tx) stall() ` + body + ` end)`
					} else {
						body = `stall() ` + body
					}
					// The outcome of the write is unknown, so the lock is left
					// to expire.
					try(t, body, lock.Kept)
				})
			}
			for name, body := range readKeywords {
				t.Run(name, func(t *testing.T) {
					try(t, `stall() `+body, lock.Freed)
				})
			}
			t.Run("before it has authenticated", func(t *testing.T) {
				t.Parallel()
				c := connection(t)
				p := withProxy(t, &c)
				p.stall()
				h := newHarness(t, map[string]sql.Connection{"main": c})
				h.expect(t, `"deadline exceeded"`, `
					return (select(2, pcall(native.lock.with, "l", { lease_ms = 400 }, function()
						native.sql.open("main"):exec("UPDATE t SET x = 5")
					end)))`)
				p.cut()
				p.release()
				if released := h.released.Load(); released.Result != lock.Freed || released.Overrun > lagMax {
					t.Errorf("the lock was %v %v late", released.Result, released.Overrun)
				}
			})
		})
	}
}

func TestCallEndsWhenTheHostShutsDown(t *testing.T) {
	for driver, connection := range databases {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			r := h.run(ctx, "a", `local db = native.sql.open("main") `+endless[driver]["a transaction"], nil)
			if r.Error == nil || time.Since(began) > limit+lagMax {
				t.Errorf("got %v after %v", r.Error, time.Since(began))
			}
			waitUntilStopped(t, h, driver)
			h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
		})
	}
}
