package dbmodule_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/module/dbmodule"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func inMemory(_ *testing.T, clk *clock.Dual) []native.Module {
	return []native.Module{dbmodule.New(db.New(memory.New(clk), clk, nil))}
}

func inFile(t *testing.T, clk *clock.Dual) []native.Module {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "test.db"), clk, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return []native.Module{dbmodule.New(db.New(store, clk, nil))}
}

func TestScriptsWithMemory(t *testing.T)  { nativetest.Scripts(t, inMemory) }
func TestScriptsWithSQLite(t *testing.T)  { nativetest.Scripts(t, inFile) }
func TestDocumentationHolds(t *testing.T) { nativetest.Docs(t, "../../../docs/db.md", inFile) }

func TestTenantsOfOneTableAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, inMemory)
		const script = `
			local t = native.db.open("p")
			local seen = t:get("k")
			t:put("k", native.context.tenant)
			return { seen = seen, all = #t:list().items }`
		for range 2 {
			for _, id := range []tenant.ID{"a", "a-b", "a_b", "ab"} {
				r := m.Run(t, id, script)
				if r.Error != nil {
					t.Fatal(r.Error)
				}
				if got := string(r.JSON); got != `{"all":1}` && got != fmt.Sprintf(`{"all":1,"seen":%q}`, id) {
					t.Errorf("tenant %s sees %s", id, got)
				}
			}
		}
	})
}

func TestBudgetErrorNamesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, inMemory)
		r := m.Invoke(t.Context(), runtime.Invocation{
			Tenant: "a", Script: "test.lua", Limits: tenant.Limits{DataOps: 5},
			Source: `
				local t = native.db.open("p")
				t:put("k", 1)
				t:get_many{ "a", "b", "c" }
				local ok, err = pcall(t.get_many, t, { "a", "b" })
				t:get("k")
				local ok2, err2 = pcall(t.get, t, "k")
				return { err.code, err.message, err2.code }`,
		})
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		if got := string(r.JSON); !strings.HasPrefix(got, `["db_budget","`) || !strings.Contains(got, "all 5 ") || !strings.HasSuffix(got, `"db_budget"]`) {
			t.Errorf("got %s, want two budget errors that name the limit", got)
		}
	})
}

func TestOpenWithoutADatabaseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nativetest.New(t, func(*testing.T, *clock.Dual) []native.Module { return []native.Module{dbmodule.New(nil)} })
		m.Expect(t, `["db_unavailable","no database is configured: set db.table or db.file"]`, `
			local ok, err = pcall(native.db.open, "p")
			return { err.code, err.message }`)
	})
}

func TestErrorsOfTheStoreReachScriptsAsTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &dbtest.Faulty{Faults: slices.Repeat([]dbtest.Fault{dbtest.RequestLost}, 4)}
		m := nativetest.New(t, func(_ *testing.T, clk *clock.Dual) []native.Module {
			store.Store = memory.New(clk)
			return []native.Module{dbmodule.New(db.New(store, clk, nil))}
		})
		m.Expect(t, `["db_unknown","put","k","unknown",false]`, `
			local ok, err = pcall(function() native.db.open("p"):put("k", 1) end)
			return { err.code, err.op, err.key, err.applied, err.retryable }`)
	})
}
