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

// house is a process with all native modules over a table in memory, in fake
// time. Its scripts have native.test besides.
type house struct {
	*nativetest.Machine
	store *memory.Store
}

// inFakeTime runs test with a house in a bubble of fake time.
func inFakeTime(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHouse(t, nil)) })
}

// newHouse makes a house over a new table, or moves another process in with
// the one that store belongs to.
func newHouse(t *testing.T, store *memory.Store) *house {
	t.Helper()
	h := &house{store: store}
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

// nested is native.test.run(source, tenant?): another run of the same process,
// while the one that asks goes on. It returns what that one returned, as JSON,
// or nil and its error.
func (h *house) nested(t *testing.T, c *native.Call) error {
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

// hold takes a lock of a tenant for another process, for longer than any test.
func (h *house) hold(t *testing.T, id tenant.ID, name string) {
	t.Helper()
	row := lock.Row{Key: lock.Key{Tenant: id, Name: name}, Owner: "another", Until: math.MaxInt64}
	if a := h.store.PutLock(t.Context(), row, 0); a.Outcome != outcome.Applied {
		t.Fatal(a)
	}
}

// locked is how many rows of locks a tenant has in the table.
func (h *house) locked(t *testing.T, id tenant.ID) int {
	t.Helper()
	page := h.store.ListLocks(t.Context(), id, "")
	if page.Err != nil {
		t.Fatal(page.Err)
	}
	return len(page.Rows)
}

// mustRun runs a script that must not fail and returns its result as JSON.
func (h *house) mustRun(t *testing.T, id tenant.ID, source string) string {
	t.Helper()
	r := h.Run(t, id, source)
	if r.Error != nil {
		t.Fatalf("%v\n%+v\n%s", r.Error, r.Error.Stack, source)
	}
	return string(r.JSON)
}

// event runs a script of a tenant with an event, which is like a value that
// native's codec takes.
func (h *house) event(t *testing.T, id tenant.ID, source string, event value.Map) *runtime.Result {
	return h.Invoke(t.Context(), runtime.Invocation{Tenant: id, Script: "test.lua", Source: source, Event: event})
}

// limited runs a script of tenant a under limits.
func (h *house) limited(t *testing.T, limits tenant.Limits, source string) *runtime.Result {
	return h.Invoke(t.Context(), runtime.Invocation{Tenant: "a", Script: "test.lua", Source: source, Limits: limits})
}
