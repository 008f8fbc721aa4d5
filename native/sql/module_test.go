package sql_test

import (
	"testing"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/module/sqlmodule"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestScripts(t *testing.T) {
	for name, connection := range databases {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, map[string]sql.Connection{"main": connection(t)})
			scripts(t, h, name)
		})
	}
}

// ordersFile is the database that the examples use.
func ordersFile(t *testing.T, clk *clock.Dual) []native.Module {
	c := toFile(t)
	db := sql.New(sql.Options{Clock: clk, Drivers: drivers(), Connections: func(tenant.ID) map[string]sql.Connection {
		return map[string]sql.Connection{"orders": c}
	}})
	t.Cleanup(func() { db.Close() })
	conn, err := db.Open("a", "orders", sql.NewOpenRows())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), sql.Statement{Text: "CREATE TABLE orders (id integer PRIMARY KEY, customer text, cents integer)"}); err != nil {
		t.Fatal(err)
	}
	return []native.Module{sqlmodule.New(db)}
}

func TestDocs(t *testing.T) { nativetest.Docs(t, "../../docs/sql.md", ordersFile) }
