package lockmodule_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
		return newFixture(t, clk).modules()
	})
}

func TestDocumentationExamples(t *testing.T) {
	nativetest.Docs(t, "../../../docs/lock.md", func(t *testing.T, clk *clock.Dual) []native.Module {
		return newFixture(t, clk).modules()
	})
}

func TestScriptPaysForAttemptsFromItsBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fixture) {
		f.limits.DataOps = 3
		f.mustRun(t, `
			native.test.hold("a", 60000)
			local ok, e = pcall(native.lock.with, "a", { wait_ms = 20000 }, error)
			assert(not ok and e.code == "db_budget" and e.op == "lock" and e.key == "a")
			assert(tostring(e):find("3", 1, true), tostring(e))
		`)
		if puts := len(f.service.Requests("put")); puts != 1+3 {
			t.Errorf("got %d puts, want the other process's and 3", puts)
		}
	})
}

func TestScriptThatEndsInsideALockReleasesIt(t *testing.T) {
	bubble(t, func(t *testing.T, f *fixture) {
		f.limits.Timeout = time.Second
		r := f.run(t, `
			pcall(native.lock.with, "a", function() while true do pcall(error) end end)
			native.test.fail("ran on after its end")
		`)
		if r.Error == nil {
			t.Error("got no error, want the run's end")
		}
		f.checkReleased(t, lock.Freed)
	})
}

func TestScriptPanicIsAnErrorAndReleasesTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, f *fixture) {
		r := f.run(t, `
			local ok, e = pcall(native.lock.with, "a", native.test.panic)
			assert(not ok and not tostring(e):find("defect", 1, true))
			assert(native.lock.with("a", function() end))
		`)
		if r.Error != nil || len(r.Incidents) != 1 {
			t.Errorf("got error %v and incidents %v, want the panic as an incident", r.Error, r.Incidents)
		}
		f.checkReleased(t, lock.Freed, lock.Freed)
	})
}

func TestScriptWarningsAreLogged(t *testing.T) {
	bubble(t, func(t *testing.T, f *fixture) {
		f.mustRun(t, `
			native.lock.with("a", { lease_ms = 1000, wait_ms = 1500.5 }, function()
				native.lock.with("a", error)
			end)
		`)
		lines := strings.Split(f.machine.Log.String(), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "wait_ms (1500.5)") || !strings.Contains(lines[0], "lease_ms (1000)") ||
			!strings.Contains(lines[1], "already holds") {
			t.Errorf("got log %q, want one warning about the wait and one about the lock being held", lines)
		}
	})
}

func TestScriptsOfTwoTenantsDoNotMeet(t *testing.T) {
	bubble(t, func(t *testing.T, f *fixture) {
		f.mustRun(t, `native.test.hold("a", 60000) assert(native.lock.with("a", error) == false)`)
		r := f.machine.Run(t, "another", `assert(native.lock.with("a", function() end))`)
		if r.Error != nil {
			t.Error(r.Error)
		}
	})
}

// fixture is what a script runs with: the locks of its process, and those of
// another process that can hold a lock against it.
type fixture struct {
	t            *testing.T
	service      *locktest.Service
	locks, other *lock.Locks
	machine      *nativetest.Machine
	limits       tenant.Limits

	mu       sync.Mutex // guards released
	released []lock.ReleaseResult
}

func newFixture(t *testing.T, clk *clock.Dual) *fixture {
	f := &fixture{t: t, service: locktest.NewService(nil)}
	f.service.Latency = 10 * time.Millisecond
	f.locks = f.newLocks(clk, lock.Events{Release: func(r lock.ReleaseEvent) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.released = append(f.released, r.Result)
	}})
	f.other = f.newLocks(clock.NewDual(clock.System()), lock.Events{})
	return f
}

func (f *fixture) newLocks(clk *clock.Dual, events lock.Events) *lock.Locks {
	f.t.Helper()
	locks, err := lock.New(clk, f.service.Connect(clk), lock.NewTableClock(0, nil), lock.Options{Events: events})
	if err != nil {
		f.t.Fatal(err)
	}
	return locks
}

// bubble runs test with a fixture in fake time.
func bubble(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var f *fixture
		m := nativetest.New(t, func(t *testing.T, clk *clock.Dual) []native.Module {
			f = newFixture(t, clk)
			return f.modules()
		})
		f.machine = m
		test(t, f)
	})
}

func (f *fixture) run(t *testing.T, source string) *runtime.Result {
	return f.machine.Invoke(t.Context(), runtime.Invocation{
		Tenant: "a", Script: "test.lua", Source: source, Limits: f.limits,
	})
}

func (f *fixture) mustRun(t *testing.T, source string) {
	t.Helper()
	if r := f.run(t, source); r.Error != nil {
		t.Error(r.Error)
	}
}

// checkReleased requires the leases of the scripts to have been given up like
// this, and no row to be left.
func (f *fixture) checkReleased(t *testing.T, want ...lock.ReleaseResult) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.released, want) {
		t.Errorf("got leases given up as %v, want %v", f.released, want)
	}
	if rows := f.service.Rows(); len(rows) > 0 {
		t.Errorf("got rows %+v, want none", rows)
	}
}

func (f *fixture) modules() []native.Module {
	return []native.Module{
		lockmodule.New(f.locks, lockmodule.Options{Process: "17"}),
		{Name: "test", Funcs: []native.Func{
			{Name: "hold", Do: f.hold},
			{Name: "requests", Do: f.requests},
			{Name: "rows", Do: f.rows},
			{Name: "by", Do: f.by},
			{Name: "write", Do: f.write},
			{Name: "panic", Do: func(*native.Call) error { panic("a defect") }},
			{Name: "fail", Do: func(c *native.Call) error { f.t.Error(c.String(1, "text")); return nil }},
		}},
	}
}

// hold(name, ms): the other process holds a lock for ms from now on.
func (f *fixture) hold(c *native.Call) error {
	key := lock.Key{Tenant: c.Env.Tenant, Name: c.String(1, "name")}
	lease, err := f.other.Acquire(f.t.Context(), lock.Request{Key: key, Lease: 10 * time.Minute})
	if err != nil {
		return err
	}
	time.AfterFunc(c.Millis(2, "ms", 0, time.Minute), func() { lease.Release(f.t.Context()) })
	return nil
}

// requests() is how many requests have been sent; rows() how many rows there
// are.
func (f *fixture) requests(c *native.Call) error {
	return c.Return(lua.LNumber(len(f.service.Requests())))
}

func (f *fixture) rows(c *native.Call) error {
	return c.Return(lua.LNumber(len(f.service.Rows())))
}

// by() describes the holder of the only row.
func (f *fixture) by(c *native.Call) error {
	by := f.service.Rows()[0].By
	return c.Return(lua.LString(strings.Join([]string{by.HostKind, by.HostName, by.Process, by.Script}, " ")))
}

// write() sends a write that stays in doubt.
func (f *fixture) write(c *native.Call) error {
	c.Write()
	return &outcome.Error{Code: "test_unknown", Message: "no answer"}
}
