// Package sqlmodule is native.sql: the Lua face of package sql.
//
//	native.sql.open(name) -> connection
//	connection:query(sql, ...) -> rows            connection:each(sql, ...) -> iterator
//	connection:exec(sql, ...) -> { affected =, last_id = }
//	connection:stream(sql, ...) -> stream         connection:transaction(fn) -> ...
//
// The function of a transaction gets a handle with query, each and exec.
package sqlmodule

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// New returns the module native.sql over db.
func New(db *sql.DB) native.Module {
	m := &module{db: db}
	m.connection = native.Methods("connection",
		native.Func{Name: "query", Do: query, Args: native.AnyArgs},   // (sql, ...) -> list of rows
		native.Func{Name: "each", Do: m.each, Args: native.AnyArgs},   // (sql, ...) -> iterator of row
		native.Func{Name: "exec", Do: exec, Args: native.AnyArgs},     // (sql, ...) -> { affected, last_id }
		native.Func{Name: "stream", Do: stream, Args: native.AnyArgs}, // (sql, ...) -> stream of JSON lines
		native.Func{Name: "transaction", Do: m.transaction, Args: 1},  // (function(tx) ...) -> what it returned
	)
	m.tx = native.Methods("transaction",
		native.Func{Name: "query", Do: query, Args: native.AnyArgs},
		native.Func{Name: "each", Do: m.each, Args: native.AnyArgs},
		native.Func{Name: "exec", Do: exec, Args: native.AnyArgs},
	)
	m.fetch = native.Func{Name: "each", Do: fetch, Args: native.AnyArgs}.Function().GFunction
	m.step = vm.NewFunction(m.next)
	return native.Module{
		Name:   "sql",
		Funcs:  []native.Func{{Name: "open", Do: m.open, Args: 1}}, // (name) -> connection
		Values: map[string]lua.LValue{"null": native.LuaNull()},
	}
}

// module is native.sql for all runs of the process.
type module struct {
	db             *sql.DB
	connection, tx *lua.LTable    // metatables
	step           *lua.LFunction // what the loops over each call
	fetch          lua.LGFunction // what step does when it has to wait
}

// querier is what statements are sent to: a [*sql.Conn] or a [*sql.Tx].
type querier interface {
	Query(ctx context.Context, st sql.Statement) (*sql.Rowset, error)
	Each(ctx context.Context, st sql.Statement) (*sql.Rowset, error)
	Exec(ctx context.Context, st sql.Statement) (sql.Result, error)
	ReadOnly() bool
}

type openRowsKey struct{}

// openRows returns what the run of c has open. It is closed with the run.
func openRows(c *native.Call) *sql.OpenRows {
	return native.State(c.Run, openRowsKey{}, func() *sql.OpenRows {
		open := sql.NewOpenRows()
		c.Run.AtEnd(open.Close)
		return open
	})
}

func (m *module) open(c *native.Call) error {
	conn, err := m.db.Open(c.Env.Tenant, c.Text(1, "name", nameMax), openRows(c))
	if err != nil {
		return err
	}
	return c.Return(native.NewHandle(conn, m.connection))
}

// nameMax is the longest name of a connection in bytes.
const nameMax = 64

func self(c *native.Call) querier { return native.Self[querier](c, "a connection or transaction") }

// statement reads the arguments of a call.
func statement(c *native.Call) sql.Statement {
	st := sql.Statement{Text: c.Text(1, "sql", sql.StatementMax)}
	if strings.Contains(st.Text, "\x00") {
		c.BadArg(1, "sql: contains a zero byte")
	}
	for i := 2; i <= c.NArgs(); i++ {
		st.Params = append(st.Params, param(c, i))
	}
	return st
}

// param reads the value of a placeholder.
func param(c *native.Call, n int) any {
	v := c.Arg(n)
	switch v := v.(type) {
	case *lua.LNilType:
		return nil
	case lua.LBool:
		return bool(v)
	case lua.LString:
		return string(v)
	case lua.LNumber:
		f := float64(v)
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0):
			c.BadArg(n, "got %v, want a finite number", f)
		case f == math.Trunc(f) && math.Abs(f) < 1<<63:
			return int64(f)
		}
		return f
	}
	if v != native.LuaNull() {
		c.BadArg(n, "got %s, want string, number, boolean, nil or native.sql.null", v.Type())
	}
	return nil
}

// beginWrite is [native.Call.Write], unless nothing can be changed.
func beginWrite(c *native.Call, readOnly bool) (resolved func()) {
	if readOnly {
		return func() {}
	}
	return c.Write()
}

// query is c:query(sql, ...) -> rows.
func query(c *native.Call) error {
	q := self(c)
	st := statement(c)
	resolved := beginWrite(c, q.ReadOnly())
	list, err := all(c, q, st)
	if err != nil {
		if !sql.Unknown(err) {
			resolved()
		}
		return err
	}
	resolved()
	return c.Return(list)
}

// all fetches all rows as a list. The rows are closed however it ends: the run
// may be interrupted because of the memory that they take.
func all(c *native.Call, q querier, st sql.Statement) (lua.LValue, error) {
	rows, err := q.Query(c.Context(), st)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := native.MarkList(c.L.NewTable())
	charge := native.MemoryCharger(c.Run)
	for n := 1; ; n++ {
		row, err := rows.Next(c.Context())
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		charge(sql.Size(row))
		list.RawSetInt(n, table(c.Run, rows.Columns(), row))
	}
}

// table returns a row as scripts see it.
func table(run *vm.Run, columns []string, row []sql.Value) lua.LValue {
	run.Step(len(row))
	t := run.Thread().CreateTable(0, len(row))
	for i, v := range row {
		t.RawSetString(columns[i], luaValue(v))
	}
	return t
}

func luaValue(v sql.Value) lua.LValue {
	switch v.Type() {
	case sql.TypeBool:
		return lua.LBool(v.Bool())
	case sql.TypeNumber:
		return lua.LNumber(v.Number())
	case sql.TypeText:
		return lua.LString(v.Text())
	}
	return native.LuaNull()
}

// each is c:each(sql, ...) -> iterator.
func (m *module) each(c *native.Call) error {
	q := self(c)
	rows, err := q.Each(c.Context(), statement(c))
	if err != nil {
		return err
	}
	return c.Return(m.step, native.NewHandle(rows, nil))
}

// next is one step of the loop over each. A row that has been fetched already
// takes no more than the interrupt check: no call is made for it that could wait.
func (m *module) next(L *lua.LState) int {
	if rows, ok := native.HandleOf[*sql.Rowset](L.Get(1)); ok {
		run := vm.Of(L)
		run.CheckInterrupt()
		if row, ok := rows.Fetched(); ok {
			run.Charge(int64(sql.Size(row)))
			L.Push(table(run, rows.Columns(), row))
			return 1
		}
	}
	return m.fetch(L)
}

// fetch is the step that waits for the server.
func fetch(c *native.Call) error {
	rows, ok := native.HandleOf[*sql.Rowset](c.Arg(1))
	if !ok {
		c.BadArg(1, "got %s, want what each returned", c.Arg(1).Type())
	}
	row, err := rows.Next(c.Context())
	switch {
	case errors.Is(err, io.EOF):
		return c.Return(lua.LNil)
	case err != nil:
		return err
	}
	c.Run.Charge(int64(sql.Size(row)))
	return c.Return(table(c.Run, rows.Columns(), row))
}

// exec is c:exec(sql, ...) -> { affected =, last_id = }.
func exec(c *native.Call) error {
	q := self(c)
	st := statement(c)
	resolved := beginWrite(c, q.ReadOnly())
	r, err := q.Exec(c.Context(), st)
	if !sql.Unknown(err) {
		resolved()
	}
	if err != nil {
		return err
	}
	result := c.L.CreateTable(0, 2)
	result.RawSetString("affected", lua.LNumber(r.Affected))
	if r.LastID != 0 {
		result.RawSetString("last_id", luaValue(sql.Integer(r.LastID)))
	}
	return c.Return(result)
}

// transaction is c:transaction(fn) -> what fn returned.
func (m *module) transaction(c *native.Call) error {
	conn := connection(c, "self: got a transaction, want a connection")
	c.Function(1)
	tx, err := conn.Begin(c.Context())
	if err != nil {
		return err
	}
	defer func() { tx.Rollback(c.Context()) }()
	c.L.SetTop(1)
	c.L.Push(native.NewHandle(tx, m.tx))
	o := c.Within(native.Unbounded, 1, 1) // a transaction has no deadline of its own
	c.Renew()
	if o.Returned() {
		resolved := beginWrite(c, conn.ReadOnly())
		err := tx.Commit(c.Context())
		if !sql.Unknown(err) {
			resolved()
		}
		if err != nil {
			return err
		}
	} else {
		tx.Rollback(c.Context()) // before the error goes on
	}
	return c.Finish(o)
}

// stream is c:stream(sql, ...) -> stream.
func stream(c *native.Call) error {
	src, err := connection(c, "self: want a connection").Stream(c.Context(), statement(c))
	if err != nil {
		return err
	}
	return c.Return(streammodule.Open(c, src))
}

// connection requires the handle of a method to be a connection; refusal is the
// error for a transaction.
func connection(c *native.Call, refusal string) *sql.Conn {
	conn, ok := self(c).(*sql.Conn)
	if !ok {
		c.BadArg(1, "%s", refusal)
	}
	return conn
}
