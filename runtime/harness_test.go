package runtime_test

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/dbmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

// harness runs scripts in fake time with all native modules over a table in
// memory. Scripts also have native.test.
type harness struct {
	*nativetest.Machine
	store *memory.Store
}

// inFakeTime runs test with a harness in a bubble of fake time.
func inFakeTime(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHarness(t, nil)) })
}

// newHarness makes a harness over store, or over a new table if store is nil.
// Two over one store are like two processes.
func newHarness(t *testing.T, store *memory.Store) *harness {
	t.Helper()
	h := &harness{store: store}
	h.Machine = nativetest.New(t, func(t *testing.T, clk *clock.Dual) []native.Module {
		if h.store == nil {
			h.store = memory.New(clk)
		}
		locks, err := lock.New(clk, h.store, lock.MachineClock{}, lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return []native.Module{
			dbmodule.New(db.New(h.store, clk, nil)),
			lockmodule.New(locks, lockmodule.Options{}),
			{Name: "test", Funcs: []native.Func{
				{Name: "run", Do: func(c *native.Call) error { return h.nested(t, c) }},
				{Name: "methods", Do: methods},
				{Name: "panic", Do: func(*native.Call) error { panic("the secret of the host") }},
			}},
		}
	})
	return h
}

// nested is native.test.run(source, tenant?). It runs source as another run of
// the same process and returns its result as JSON, or nil and its error.
func (h *harness) nested(t *testing.T, c *native.Call) error {
	id := c.Env.Tenant
	if c.NArgs() > 1 {
		id = tenant.ID(c.String(2, "tenant"))
	}
	r := h.Run(t, id, c.String(1, "source"))
	if r.Error != nil {
		return c.Return(native.ToLua(c.Run, nil), native.ToLua(c.Run, r.Error.Error()))
	}
	return c.Return(native.ToLua(c.Run, string(r.JSON)))
}

// holdLock takes a lock of a tenant for another process, for longer than any
// test.
func (h *harness) holdLock(t *testing.T, id tenant.ID, name string) {
	t.Helper()
	row := lock.Row{Key: lock.Key{Tenant: id, Name: name}, Owner: "another", Until: math.MaxInt64}
	if a := h.store.PutLock(t.Context(), row, 0); a.Outcome != outcome.Applied {
		t.Fatal(a)
	}
}

// lockRows returns how many rows of locks a tenant has in the table.
func (h *harness) lockRows(t *testing.T, id tenant.ID) int {
	t.Helper()
	page := h.store.ListLocks(t.Context(), id, "")
	if page.Err != nil {
		t.Fatal(page.Err)
	}
	return len(page.Rows)
}

// mustRun runs a script that must not fail and returns its result as JSON.
func (h *harness) mustRun(t *testing.T, id tenant.ID, source string) string {
	t.Helper()
	r := h.Run(t, id, source)
	if r.Error != nil {
		t.Fatalf("%v\n%+v\n%s", r.Error, r.Error.Stack, source)
	}
	return string(r.JSON)
}

// runEvent runs a script of a tenant with an event.
func (h *harness) runEvent(t *testing.T, id tenant.ID, source string, event value.Map) *runtime.Result {
	return h.Invoke(t.Context(), runtime.Invocation{Tenant: id, Script: "test.lua", Source: source, Event: event})
}

// runLimited runs a script of tenant a under limits.
func (h *harness) runLimited(t *testing.T, limits tenant.Limits, source string) *runtime.Result {
	return h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Source: source, Limits: limits})
}
