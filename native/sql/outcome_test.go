package sql_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func TestWriteIsUnknownWhenItsConnectionFails(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			observer := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, observer)
			sleep := map[string]string{"postgres": "pg_sleep(60)", "mysql": "SLEEP(60)"}[driver]
			for _, test := range []struct{ body, want string }{
				{`db:exec("UPDATE t SET x = 2 WHERE ` + sleep + ` IS NULL /* marked */")`, `["sql_unknown","unknown",false,false]`},
				{`db:query("SELECT ` + sleep + ` /* marked */")`, `["sql_unknown","unknown",false,false]`},
				{`for _ in db:each("SELECT ` + sleep + ` /* marked */") do end`, `["sql_unavailable",null,true,true]`},
				{`db:transaction(function(tx) tx:exec("UPDATE t SET x = 2") stall() end)`, `["sql_unknown","unknown",false,false]`},
			} {
				c := connection(t)
				p := withProxy(t, &c)
				h := newHarness(t, map[string]sql.Connection{"main": c})
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

func TestConflictIsRetryable(t *testing.T) {
	// Two transactions that wait for each other; each then writes what the
	// other has read or written.
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
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			var both sync.WaitGroup
			both.Add(2)
			meet := func() { both.Done(); both.Wait() }
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

func TestStatementIsHeldBackOnceTheCallHasEnded(t *testing.T) {
	for driver, connection := range servers {
		t.Run(driver, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			prepare(t, h)
			c, err := h.db.Open("a", "main", sql.NewOpenRows())
			if err != nil {
				t.Fatal(err)
			}
			// A run whose clock jumps past its end after the interrupt check:
			// the process was stopped there.
			clk := &jumpingClock{Clock: clock.System()}
			run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
			defer run.Close()
			ctx := run.Context()
			defer ctx.Stop()
			ctx.Done() // starts its timer
			clk.jump(time.Hour)
			_, err = c.Exec(ctx, sql.Statement{Text: "UPDATE t SET x = 7"})
			if sql.Unknown(err) || err == nil {
				t.Errorf("got %v, want to know that nothing was sent", err)
			}
			h.expect(t, `1`, `return native.sql.open("main"):query("SELECT x FROM t")[1].x`)
		})
	}
}
