package lock_test

import (
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestScripts(t *testing.T) {
	nativetest.Scripts(t, func(t *testing.T, clk *clock.Dual) []native.Module {
		return newBench(t, clk).modules()
	})
}

func TestExamplesOfTheDocumentationRun(t *testing.T) {
	nativetest.Docs(t, "../../docs/lock.md", func(t *testing.T, clk *clock.Dual) []native.Module {
		return newBench(t, clk).modules()
	})
}

func TestTheBudgetOfARunPaysForItsAttempts(t *testing.T) {
	script(t, func(t *testing.T, b *bench) {
		b.limits.DataOps = 3
		b.mustRun(t, `
			native.test.hold("a", 60000)
			local ok, e = pcall(native.lock.with, "a", { wait_ms = 20000 }, error)
			assert(not ok and e.code == "db_budget" and e.op == "lock" and e.key == "a")
			assert(tostring(e):find("3", 1, true), tostring(e))
		`)
		if puts := len(b.service.Requests("put")); puts != 1+3 {
			t.Errorf("got %d puts, want the other process's and 3", puts)
		}
	})
}

func TestARunThatEndsInsideALockReleasesIt(t *testing.T) {
	script(t, func(t *testing.T, b *bench) {
		b.limits.Timeout = time.Second
		r := b.run(t, `
			pcall(native.lock.with, "a", function() while true do pcall(error) end end)
			native.test.fail("ran on after its end")
		`)
		if r.Error == nil {
			t.Error("got no error, want the run's end")
		}
		checkNoRows(t, b.service)
		checkReleased(t, b.process, lock.Freed)
	})
}

func TestAPanicBelowTheFunctionIsAnErrorAndFreesTheLock(t *testing.T) {
	script(t, func(t *testing.T, b *bench) {
		r := b.run(t, `
			local ok, e = pcall(native.lock.with, "a", native.test.panic)
			assert(not ok and not tostring(e):find("defect", 1, true))
			assert(native.lock.with("a", function() end))
		`)
		if r.Error != nil || len(r.Incidents) != 1 {
			t.Errorf("got error %v and incidents %v, want the panic as an incident", r.Error, r.Incidents)
		}
		checkReleased(t, b.process, lock.Freed, lock.Freed)
	})
}

func TestWhatAnAuthorShouldKnowIsInTheLog(t *testing.T) {
	script(t, func(t *testing.T, b *bench) {
		b.mustRun(t, `
			native.lock.with("a", { lease_ms = 1000, wait_ms = 1500.5 }, function()
				native.lock.with("a", error)
			end)
		`)
		lines := strings.Split(b.machine.Log.String(), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "wait_ms (1500.5)") || !strings.Contains(lines[0], "lease_ms (1000)") ||
			!strings.Contains(lines[1], "already holds") {
			t.Errorf("got log %q, want one warning about the wait and one about the lock being held", lines)
		}
	})
}

func TestTwoTenantsDoNotMeet(t *testing.T) {
	script(t, func(t *testing.T, b *bench) {
		b.mustRun(t, `native.test.hold("a", 60000) assert(native.lock.with("a", error) == false)`)
		r := b.machine.Run(t, "another", `assert(native.lock.with("a", function() end))`)
		if r.Error != nil {
			t.Error(r.Error)
		}
	})
}

// bench is what scripts are run with: this process, and another one that they
// can have a lock held by.
type bench struct {
	*process
	other   *process
	service *locktest.Service
	machine *nativetest.Machine
	limits  tenant.Limits
	t       *testing.T
}

func newBench(t *testing.T, clk *clock.Dual) *bench {
	s := locktest.NewService(nil)
	s.Latency = 10 * time.Millisecond
	return &bench{process: startOn(t, s, clk), other: start(t, s, 0), service: s, t: t}
}

// script runs test with a bench in fake time.
func script(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	bubble(t, func(t *testing.T, _ *locktest.Service) {
		var b *bench
		m := nativetest.New(t, func(t *testing.T, clk *clock.Dual) []native.Module {
			b = newBench(t, clk)
			return b.modules()
		})
		b.machine = m
		test(t, b)
	})
}

func (b *bench) run(t *testing.T, source string) *runtime.Result {
	return b.machine.Invoke(t.Context(), runtime.Invocation{
		Tenant: "a", Script: "test.lua", Source: source, Limits: b.limits,
	})
}

func (b *bench) mustRun(t *testing.T, source string) {
	t.Helper()
	if r := b.run(t, source); r.Error != nil {
		t.Error(r.Error)
	}
}

func (b *bench) modules() []native.Module {
	return []native.Module{
		lockmodule.New(b.locks, lockmodule.Options{Process: "17"}),
		{Name: "test", Funcs: []native.Func{
			{Name: "hold", Do: b.hold},
			{Name: "asked", Do: b.asked},
			{Name: "rows", Do: b.rows},
			{Name: "by", Do: b.by},
			{Name: "write", Do: b.write},
			{Name: "panic", Do: func(*native.Call) error { panic("a defect") }},
			{Name: "fail", Do: func(c *native.Call) error { b.t.Error(c.String(1, "text")); return nil }},
		}},
	}
}

// hold(name, ms): the other process holds a lock for ms from now on.
func (b *bench) hold(c *native.Call) error {
	key := lock.Key{Tenant: c.Env.Tenant, Name: c.String(1, "name")}
	l := b.other.acquire(b.t, lease(10*time.Minute), func(r *lock.Request) { r.Key = key })
	time.AfterFunc(c.Millis(2, "ms", 0, time.Minute), func() { l.Release(b.t.Context()) })
	return nil
}

// asked() is how many requests have been sent; rows() how many rows there are.
func (b *bench) asked(c *native.Call) error {
	return c.Return(lua.LNumber(len(b.service.Requests())))
}

func (b *bench) rows(c *native.Call) error {
	return c.Return(lua.LNumber(len(b.service.Rows())))
}

// by() describes the holder of the only row.
func (b *bench) by(c *native.Call) error {
	by := b.service.Rows()[0].By
	return c.Return(lua.LString(strings.Join([]string{by.HostKind, by.HostName, by.Process, by.Script}, " ")))
}

// write() sends a write whose outcome is never known.
func (b *bench) write(c *native.Call) error {
	c.Write()
	return &outcome.Error{Code: "test_unknown", Message: "no answer"}
}
