package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/module/sqlmodule"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/sql/postgres"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
	postgresserver "github.com/tidelock-lua/tidelock/test/postgres"
)

const (
	eachRows  = 10_000
	queryRows = 1_000
	orders    = "SELECT id, customer, cents, at FROM orders"
)

// eachScript reads all rows one by one, and queryScript some of them as a list.
const (
	eachScript = `return function(e)
	local db = native.sql.open("db")
	for i = 1, e.times do
		local sum = 0
		for row in db:each(e.sql) do sum = sum + row.id end
		assert(sum == e.sum)
	end
end`
	queryScript = `return function(e)
	local db = native.sql.open("db")
	for i = 1, e.times do
		local sum = 0
		for _, row in ipairs(db:query(e.sql)) do sum = sum + row.id end
		assert(sum == e.sum)
	end
end`
)

// sqlRates compare the rows of native.sql with those of pgx, which scans them
// into Go variables. Neither uses TLS.
func sqlRates() ([]rateComparison, func(), error) {
	server, err := postgresserver.Start(secret)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable",
		postgresserver.User, secret, server.Port, postgresserver.Database))
	if err == nil {
		_, err = conn.Exec(ctx, fmt.Sprintf(`CREATE TABLE orders AS SELECT id::bigint, 'customer ' || id AS customer,
			(id %% 10000)::integer AS cents, timestamptz '2026-01-01' + id * interval '1 second' AS at
			FROM generate_series(1, %d) AS id`, eachRows))
	}
	if err != nil {
		server.Stop()
		return nil, nil, err
	}
	stop := func() {
		conn.Close(ctx)
		server.Stop()
	}
	first := fmt.Sprintf("%s ORDER BY id LIMIT %d", orders, queryRows)
	if _, err := conn.Exec(ctx, "CREATE UNIQUE INDEX ON orders (id)"); err != nil {
		stop()
		return nil, nil, err
	}
	return []rateComparison{
		{comparison{fmt.Sprintf("rows, of %d", eachRows), "at least 0.5x", []contender{
			{"pgx", bareEach(conn, func([]string, order) {})}, {"pgx and tables of gopher-lua", bareEach(conn, luaTable)},
			{"connection:each", tidelockRows(server, eachScript, orders, eachRows)},
		}}, eachRows},
		{comparison{fmt.Sprintf("rows, of %d in a list", queryRows), "", []contender{
			{"pgx", bareQuery(conn, first)}, {"connection:query", tidelockRows(server, queryScript, first, queryRows)},
		}}, queryRows},
	}, stop, nil
}

// order is a row of the table orders.
type order struct {
	ID       int64
	Customer string
	Cents    int32
	At       time.Time
}

// luaTable makes the table that a script needs for a row. The keys are the column
// names as the server sends them; only constants would be cheaper.
func luaTable(columns []string, o order) {
	t := (*lua.LState)(nil).CreateTable(0, 4)
	t.RawSetString(columns[0], lua.LNumber(o.ID))
	t.RawSetString(columns[1], lua.LString(o.Customer))
	t.RawSetString(columns[2], lua.LNumber(o.Cents))
	t.RawSetString(columns[3], lua.LString(o.At.UTC().Format(time.RFC3339Nano)))
}

func bareEach(conn *pgx.Conn, use func(columns []string, o order)) func() (func(int), func()) {
	return func() (func(int), func()) {
		return func(n int) {
			for range n {
				var o order
				var sum int64
				rows := must(conn.Query(context.Background(), orders))
				var columns []string
				for _, field := range rows.FieldDescriptions() {
					columns = append(columns, field.Name)
				}
				must(pgx.ForEachRow(rows, []any{&o.ID, &o.Customer, &o.Cents, &o.At}, func() error {
					sum += o.ID
					use(columns, o)
					return nil
				}))
				check(sum, eachRows)
			}
		}, func() {}
	}
}

func bareQuery(conn *pgx.Conn, text string) func() (func(int), func()) {
	return func() (func(int), func()) {
		return func(n int) {
			for range n {
				var sum int64
				rows := must(conn.Query(context.Background(), text))
				for _, o := range must(pgx.CollectRows(rows, pgx.RowToStructByPos[order])) {
					sum += o.ID
				}
				check(sum, queryRows)
			}
		}, func() {}
	}
}

func check(sum int64, rows int) {
	if sum != sumTo(rows) {
		panic(fmt.Sprintf("got %d, want the ids of %d rows: %d", sum, rows, sumTo(rows)))
	}
}

func sumTo(n int) int64 { return int64(n) * int64(n+1) / 2 }

// tidelockRows runs a script that reads rows.
func tidelockRows(server *postgresserver.Server, script, text string, rows int) func() (func(int), func()) {
	return func() (func(int), func()) {
		clk := clock.NewDual(clock.System())
		connections := map[string]sql.Connection{"db": {
			Driver: "postgres", Host: "127.0.0.1", Port: server.Port, TLS: sql.TLSOff,
			User: postgresserver.User, Database: postgresserver.Database, Password: func() (string, error) { return secret, nil },
		}}
		db := sql.New(sql.Options{
			Clock: clk, Drivers: map[string]sql.Driver{"postgres": postgres.New()},
			Connections: func(tenant.ID) map[string]sql.Connection { return connections },
		})
		p := &process{engine: newEngine(clk, nil, nil, sqlmodule.New(db))}
		return func(n int) {
			must(p.run(context.Background(), script, value.Map{"times": float64(n), "sql": text, "sum": float64(sumTo(rows))}))
		}, func() { db.Close() }
	}
}
