package sql

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// Module returns the module native.sql over db.
func Module(db *DB) native.Module {
	m := &module{db: db}
	m.connection = native.Methods("connection",
		native.Func{Name: opQuery, Do: query},               // (sql, ...) -> list of rows
		native.Func{Name: opEach, Do: m.each},               // (sql, ...) -> iterator of row
		native.Func{Name: opExec, Do: exec},                 // (sql, ...) -> { affected, last_id }
		native.Func{Name: opStream, Do: m.stream},           // (sql, ...) -> stream of JSON lines
		native.Func{Name: opTransaction, Do: m.transaction}, // (function(tx) ...) -> what it returned
	)
	m.tx = native.Methods("transaction",
		native.Func{Name: opQuery, Do: query},
		native.Func{Name: opEach, Do: m.each},
		native.Func{Name: opExec, Do: exec},
	)
	m.fetch = native.Func{Name: opEach, Do: fetch}.Function().GFunction
	m.step = vm.NewFunction(m.next)
	return native.Module{
		Name:   "sql",
		Funcs:  []native.Func{{Name: opOpen, Do: m.open}}, // (name) -> connection
		Values: map[string]lua.LValue{"null": native.LuaNull()},
	}
}

// module is native.sql for all runs of the process.
type module struct {
	db             *DB
	connection, tx *lua.LTable    // metatables
	step           *lua.LFunction // what each hands to the loop
	fetch          lua.LGFunction // what step does when it has to wait
}

// target is what statements are sent to: a connection or a transaction.
type target interface {
	query(ctx context.Context, h *OpenRows, st Statement) (*Rowset, error)
	each(ctx context.Context, h *OpenRows, st Statement) (*Rowset, error)
	exec(ctx context.Context, h *OpenRows, st Statement) (Result, error)
	// ReadOnly says whether nothing can be changed over it.
	ReadOnly() bool
}

func (c *Conn) query(ctx context.Context, h *OpenRows, st Statement) (*Rowset, error) {
	return c.Query(ctx, h, st)
}

func (c *Conn) each(ctx context.Context, h *OpenRows, st Statement) (*Rowset, error) {
	return c.Each(ctx, h, st)
}

func (c *Conn) exec(ctx context.Context, h *OpenRows, st Statement) (Result, error) {
	return c.Exec(ctx, h, st)
}

func (t *Tx) query(ctx context.Context, _ *OpenRows, st Statement) (*Rowset, error) {
	return t.Query(ctx, st)
}

func (t *Tx) each(ctx context.Context, _ *OpenRows, st Statement) (*Rowset, error) {
	return t.Each(ctx, st)
}

func (t *Tx) exec(ctx context.Context, _ *OpenRows, st Statement) (Result, error) {
	return t.Exec(ctx, st)
}

type holdingKey struct{}

// holding is what the run of c has open.
func holding(c *native.Call) *OpenRows {
	return native.State(c.Run, holdingKey{}, func() *OpenRows {
		h := NewOpenRows()
		c.Run.AtEnd(h.Close)
		return h
	})
}

func (m *module) open(c *native.Call) error {
	conn, err := m.db.Open(c.Env.Tenant, c.Text(1, "name", nameMax))
	if err != nil {
		return err
	}
	return c.Return(&lua.LUserData{Value: conn, Metatable: m.connection})
}

// nameMax is the longest name of a connection in bytes.
const nameMax = 64

// self takes the handle off the call, so that its other arguments are counted
// as scripts count them.
func self(c *native.Call) target {
	if ud, ok := c.Arg(1).(*lua.LUserData); ok {
		if t, ok := ud.Value.(target); ok {
			c.L.Remove(1)
			return t
		}
	}
	c.BadArg(1, "self: got %s, want a connection or transaction: call it with a colon", c.Arg(1).Type())
	return nil
}

// statement reads the arguments of a call.
func statement(c *native.Call) Statement {
	st := Statement{Text: c.Text(1, "sql", textMax)}
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

// query is c:query(sql, ...) -> rows.
func query(c *native.Call) error {
	t := self(c)
	st := statement(c)
	settled := func() {}
	if !t.ReadOnly() {
		settled = c.Write()
	}
	list, err := all(c, t, st)
	if err != nil {
		if !Unknown(err) {
			settled()
		}
		return err
	}
	settled()
	return c.Return(list)
}

// all fetches all rows as a list. The rows are closed however it ends: the run
// may be interrupted because of what they take.
func all(c *native.Call, t target, st Statement) (lua.LValue, error) {
	rows, err := t.query(c.Context(), holding(c), st)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := native.MarkList(c.L.NewTable())
	grow := native.MemoryCharger(c.Run)
	for n := 1; ; n++ {
		row, err := rows.Next(c.Context())
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		grow(Size(row))
		list.RawSetInt(n, table(c.Run, rows.columns, row))
	}
}

// table is a row as scripts see it.
func table(run *vm.Run, columns []string, row []Value) lua.LValue {
	run.Step(len(row))
	t := run.Thread().CreateTable(0, len(row))
	for i, v := range row {
		t.RawSetString(columns[i], luaValue(v))
	}
	return t
}

func luaValue(v Value) lua.LValue {
	switch v.kind {
	case isBool:
		return lua.LBool(v.number != 0)
	case isNumber:
		return lua.LNumber(v.number)
	case isText:
		return lua.LString(v.text)
	}
	return native.LuaNull()
}

// each is c:each(sql, ...) -> iterator.
func (m *module) each(c *native.Call) error {
	t := self(c)
	rows, err := t.each(c.Context(), holding(c), statement(c))
	if err != nil {
		return err
	}
	return c.Return(m.step, &lua.LUserData{Value: rows, Metatable: lua.LNil})
}

// next is one step of the loop over each. A row that has been fetched already
// takes nothing but the gate: no call is made for it that could wait.
func (m *module) next(L *lua.LState) int {
	if rows := rowsOf(L.Get(1)); rows != nil {
		run := vm.Of(L)
		run.CheckInterrupt()
		if row, ok := rows.Fetched(); ok {
			run.Charge(int64(Size(row)))
			L.Push(table(run, rows.columns, row))
			return 1
		}
	}
	return m.fetch(L)
}

// fetch is the step for which the server is asked.
func fetch(c *native.Call) error {
	rows := rowsOf(c.Arg(1))
	if rows == nil {
		c.BadArg(1, "got %s, want what each returned", c.Arg(1).Type())
	}
	row, err := rows.Next(c.Context())
	switch {
	case errors.Is(err, io.EOF):
		return c.Return(lua.LNil)
	case err != nil:
		return err
	}
	c.Run.Charge(int64(Size(row)))
	return c.Return(table(c.Run, rows.columns, row))
}

// rowsOf are the rows of a loop, nil if v is something else.
func rowsOf(v lua.LValue) *Rowset {
	ud, _ := v.(*lua.LUserData)
	if ud == nil {
		return nil
	}
	rows, _ := ud.Value.(*Rowset)
	return rows
}

// exec is c:exec(sql, ...) -> { affected =, last_id = }.
func exec(c *native.Call) error {
	t := self(c)
	st := statement(c)
	settled := func() {}
	if !t.ReadOnly() {
		settled = c.Write()
	}
	r, err := t.exec(c.Context(), holding(c), st)
	if !Unknown(err) {
		settled()
	}
	if err != nil {
		return err
	}
	result := c.L.CreateTable(0, 2)
	result.RawSetString("affected", lua.LNumber(r.Affected))
	if r.LastID != 0 {
		result.RawSetString("last_id", luaValue(Integer(r.LastID)))
	}
	return c.Return(result)
}

// never is an end that doesn't come: a transaction has none of its own.
const never = time.Duration(math.MaxInt64)

// transaction is c:transaction(fn) -> what fn returned.
func (m *module) transaction(c *native.Call) error {
	conn, ok := self(c).(*Conn)
	if !ok {
		c.BadArg(1, "self: got a transaction, want a connection")
	}
	c.Function(1)
	tx, err := conn.Begin(c.Context(), holding(c))
	if err != nil {
		return err
	}
	defer func() { tx.Rollback(c.Context()) }()
	c.L.SetTop(1)
	c.L.Push(&lua.LUserData{Value: tx, Metatable: m.tx})
	o := c.Within(never, 1, 1)
	c.Renew()
	if o.Returned() {
		settled := func() {}
		if !conn.ReadOnly() {
			settled = c.Write()
		}
		err := tx.Commit(c.Context())
		if !Unknown(err) {
			settled()
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
func (m *module) stream(c *native.Call) error {
	conn, ok := self(c).(*Conn)
	if !ok {
		c.BadArg(1, "self: want a connection")
	}
	rows, err := conn.stream(c.Context(), holding(c), statement(c))
	if err != nil {
		return err
	}
	return c.Return(stream.Open(c, &lines{rows: rows}))
}
