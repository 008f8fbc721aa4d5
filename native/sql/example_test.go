package sql_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/sqlite"
	"github.com/tidelock-lua/tidelock/tenant"
)

// A host names the connections of each tenant and the drivers that it has.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	db := sql.New(sql.Options{
		Clock:   clock.NewDual(clock.System()),
		Drivers: map[string]sql.Driver{"sqlite": sqlite.New()},
		Connections: func(id tenant.ID) map[string]sql.Connection {
			return map[string]sql.Connection{"orders": {Driver: "sqlite", File: filepath.Join(folder, string(id))}}
		},
	})
	defer db.Close()

	// Each run keeps what it has open apart.
	orders, err := db.Open("acme", "orders", sql.NewOpenRows())
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for _, st := range []sql.Statement{
		{Text: "CREATE TABLE orders (id integer, customer text)"},
		{Text: "INSERT INTO orders VALUES (?, ?)", Params: []any{int64(7), "Ada"}},
	} {
		if _, err := orders.Exec(ctx, st); err != nil {
			panic(err)
		}
	}
	rows, err := orders.Query(ctx, sql.Statement{Text: "SELECT * FROM orders"})
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	fmt.Println(rows.Columns(), row, err)
	// Output: [id customer] [7 Ada] <nil>
}

func BenchmarkQuery(b *testing.B) {
	for driver, connection := range databases {
		b.Run(driver, func(b *testing.B) {
			h := newHarness(b, map[string]sql.Connection{"main": connection(b)})
			conn, err := h.db.Open("a", "main", sql.NewOpenRows())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				rows, err := conn.Query(b.Context(), sql.Statement{Text: "SELECT 1 AS a"})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := rows.Next(b.Context()); err != nil {
						break
					}
				}
			}
		})
	}
}
