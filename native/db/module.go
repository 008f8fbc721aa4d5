package db

import (
	"fmt"
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// Module returns the module native.db over d. With nil, its functions raise
// that no database is configured.
func Module(d *DB) native.Module {
	m := module{db: d}
	m.handle = metatable("partition", []native.Func{
		{Name: "get", Do: m.get},          // (key, {stale}) -> value, rev | nil
		{Name: "get_many", Do: m.getMany}, // ({key, ...}, {stale}) -> values, revs, by key
		{Name: "put", Do: m.put},          // (key, value, {rev | new, ttl}) -> rev | nil, current
		{Name: "delete", Do: m.delete},    // (key, {rev}) -> true | false, current
		{Name: "add", Do: m.add},          // (key, n, {ttl, min, max}) -> sum | nil, current
		{Name: "update", Do: m.update},    // (key, function(value, rev) -> value) -> value, rev | nil
		{Name: "list", Do: m.list},        // ({prefix, after, before, reverse, limit, keys, stale}) -> page
		{Name: "each", Do: m.each},        // (same) -> iterator of key, value, rev
	})
	m.step = native.Func{Name: "each", Do: m.next}.Function()
	return native.Module{
		Name: "db",
		Funcs: []native.Func{
			{Name: "open", Do: m.open},     // (name) -> partition
			{Name: "atomic", Do: m.atomic}, // ({{"put", partition, key, ...}, ...}) -> revs | nil, failed
			native.ListFunc(),              // (table) -> the table, marked as a list
		},
		Values: map[string]lua.LValue{"null": native.LuaNull()},
	}
}

// module is native.db for all runs of the process.
type module struct {
	db     *DB
	handle *lua.LTable    // metatable of partitions
	step   *lua.LFunction // what each hands to the loop
}

// metatable makes the metatable of a kind of handle. Scripts see only its
// name; it is never written again, so all runs share it.
func metatable(name string, methods []native.Func) *lua.LTable {
	index := &lua.LTable{Metatable: lua.LNil}
	for _, f := range methods {
		index.RawSetString(f.Name, f.Function())
	}
	t := &lua.LTable{Metatable: lua.LNil}
	t.RawSetString("__metatable", lua.LString(name))
	t.RawSetString("__index", index)
	return t
}

// account is the run that a call is made for.
type account struct{ *native.Call }

// Spend passes the gate before it pays: since the call began, there may have
// been a pause, or a function of the script.
func (a account) Spend(n int64) error {
	a.Run.CheckInterrupt()
	if ops := a.Env.DataOps; !ops.Spend(n) {
		return &outcome.Error{Code: CodeBudget, Message: fmt.Sprintf("%s: all %d data operations of the run are used up", ops.Name, ops.Limit)}
	}
	return nil
}

func (a account) Remaining() (time.Duration, bool) { return a.Run.Remaining() }

// self takes the partition off the call, so that its other arguments are
// counted as scripts count them.
func (m *module) self(c *native.Call) *Partition {
	if ud, ok := c.Arg(1).(*lua.LUserData); ok {
		if p, ok := ud.Value.(*Partition); ok {
			c.L.Remove(1)
			return p
		}
	}
	c.BadArg(1, "self: got %s, want a partition: call it with a colon", c.Arg(1).Type())
	return nil
}

// data returns v, a part of argument n, as data for options or a list.
func data(c *native.Call, n int, name string, v lua.LValue) any {
	if v.Type() != lua.LTTable && v != lua.LNil {
		c.BadArg(n, "%s: got %s, want table", name, v.Type())
	}
	tree, err := native.FromLua(c.Run, v, name, 1)
	if err != nil {
		c.BadArg(n, "%v", err)
	}
	return tree
}

func optionsAt(c *native.Call, n int) any { return data(c, n, "options", c.Arg(n)) }

// valueOf returns what is to be stored, nil for nil.
func valueOf(run *vm.Run, v lua.LValue) (any, error) {
	tree, err := native.FromLua(run, v, "value", depthMax)
	if err != nil {
		return nil, refuse(CodeValue, "%v", err)
	}
	return tree, nil
}

// toLua returns a stored value, nil for none.
func toLua(run *vm.Run, v any) lua.LValue {
	run.Charge(int64(Size(v)))
	return native.ToLua(run, v)
}

// pair returns the value and the revision of a row, nils for none.
func pair(run *vm.Run, row *Row) (lua.LValue, lua.LValue) {
	if row == nil {
		return lua.LNil, lua.LNil
	}
	return toLua(run, row.Value), lua.LString(row.Rev)
}

// entry is a row as a table: { value =, rev = }; nil for none.
func entry(run *vm.Run, row *Row) lua.LValue {
	if row == nil {
		return lua.LNil
	}
	t := run.Thread().NewTable()
	v, rev := pair(run, row)
	t.RawSetString("value", v)
	t.RawSetString("rev", rev)
	return t
}

func (m *module) open(c *native.Call) error {
	name := c.String(1, "name")
	if m.db == nil {
		return &outcome.Error{Code: CodeUnavailable, Op: "open", Key: name, Message: "no database is configured: set db.table or db.file"}
	}
	p, err := m.db.Open(c.Env.Tenant, name)
	if err != nil {
		return err
	}
	return c.Return(&lua.LUserData{Value: p, Metatable: m.handle})
}

func (m *module) get(c *native.Call) error {
	p, key := m.self(c), c.String(1, "key")
	stale, err := readStale(optionsAt(c, 2))
	if err != nil {
		return about(err, "get", key)
	}
	row, err := p.Get(c.Context(), account{c}, key, stale)
	if err != nil {
		return err
	}
	return c.Return(pair(c.Run, row))
}

func (m *module) getMany(c *native.Call) error {
	p := m.self(c)
	stale, err := readStale(optionsAt(c, 2))
	if err != nil {
		return about(err, "get_many", "")
	}
	tree := data(c, 1, "keys", c.Arg(1))
	list, isList := tree.(value.List)
	if none, isMap := tree.(value.Map); !isList && (!isMap || len(none) > 0) {
		c.BadArg(1, "keys: got %s, want a list of strings", kind(tree))
	}
	keys := make([]string, len(list))
	for i, v := range list {
		key, ok := v.(string)
		if !ok {
			c.BadArg(1, "keys[%d]: got %s, want string", i+1, kind(v))
		}
		keys[i] = key
	}
	rows, err := p.GetMany(c.Context(), account{c}, keys, stale)
	if err != nil {
		return err
	}
	values, revs := c.L.CreateTable(0, len(rows)), c.L.CreateTable(0, len(rows))
	for key, row := range rows {
		v, rev := pair(c.Run, row)
		values.RawSetString(key, v)
		revs.RawSetString(key, rev)
	}
	return c.Return(values, revs)
}

func (m *module) put(c *native.Call) error {
	p, key := m.self(c), c.String(1, "key")
	v, err := valueOf(c.Run, c.Arg(2))
	if err != nil {
		return about(err, "put", key)
	}
	e, err := p.entryPut(key, v, optionsAt(c, 3))
	if err != nil {
		return err
	}
	rev, current, err := p.put(c.Context(), account{c}, "put", e)
	switch {
	case err != nil:
		return err
	case rev == "":
		return c.Return(lua.LNil, entry(c.Run, current))
	}
	return c.Return(lua.LString(rev))
}

func (m *module) delete(c *native.Call) error {
	p, key := m.self(c), c.String(1, "key")
	e, err := p.entryDelete(key, optionsAt(c, 2))
	if err != nil {
		return err
	}
	ok, current, err := p.delete(c.Context(), account{c}, e)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.Return(lua.LFalse, entry(c.Run, current))
	}
	return c.Return(lua.LTrue)
}

func (m *module) add(c *native.Call) error {
	p, key := m.self(c), c.String(1, "key")
	n, isNumber := c.Arg(2).(lua.LNumber)
	if !isNumber {
		c.BadArg(2, "n: got %s, want number", c.Arg(2).Type())
	}
	e, err := p.entryAdd(key, float64(n), optionsAt(c, 3))
	if err != nil {
		return err
	}
	sum, ok, current, err := p.add(c.Context(), account{c}, e)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.Return(lua.LNil, entry(c.Run, current))
	}
	return c.Return(lua.LNumber(sum))
}

// update calls the script's function between requests: nothing is held open
// while it runs.
func (m *module) update(c *native.Call) error {
	p, key := m.self(c), c.String(1, "key")
	c.Function(2)
	fn := c.Arg(2)
	row, err := p.Update(c.Context(), account{c}, key, func(row *Row) (any, error) {
		v, rev := pair(c.Run, row)
		c.L.Push(fn)
		c.L.Push(v)
		c.L.Push(rev)
		c.L.Call(2, 1)
		c.Renew()
		changed := c.L.Get(-1)
		c.L.Pop(1)
		return valueOf(c.Run, changed)
	})
	if err != nil {
		return about(err, "update", key)
	}
	return c.Return(pair(c.Run, row))
}

func (m *module) list(c *native.Call) error {
	p := m.self(c)
	o, err := readList(optionsAt(c, 1), limitMax)
	if err != nil {
		return about(err, "list", "")
	}
	page, err := p.List(c.Context(), account{c}, o)
	if err != nil {
		return err
	}
	items := native.MarkList(c.L.CreateTable(len(page.Items), 0))
	for i, item := range page.Items {
		t := entry(c.Run, &item.Row).(*lua.LTable)
		t.RawSetString("key", lua.LString(item.Key))
		items.RawSetInt(i+1, t)
	}
	t := c.L.NewTable()
	t.RawSetString("items", items)
	if page.After != "" {
		t.RawSetString("after", lua.LString(page.After))
	}
	return c.Return(t)
}

func (m *module) each(c *native.Call) error {
	p := m.self(c)
	o, err := readList(optionsAt(c, 1), math.MaxInt32)
	if err != nil {
		return about(err, "each", "")
	}
	walk, err := p.Iterate(o)
	if err != nil {
		return err
	}
	return c.Return(m.step, &lua.LUserData{Value: walk, Metatable: lua.LNil})
}

// next is one step of the loop over each.
func (m *module) next(c *native.Call) error {
	ud, _ := c.Arg(1).(*lua.LUserData)
	if ud == nil {
		c.BadArg(1, "got %s, want what each returned", c.Arg(1).Type())
	}
	walk, ok := ud.Value.(*Iterator)
	if !ok {
		c.BadArg(1, "want what each returned")
	}
	item, err := walk.Next(c.Context(), account{c})
	if err != nil {
		return err
	}
	if item == nil {
		return c.Return(lua.LNil)
	}
	v, rev := pair(c.Run, &item.Row)
	return c.Return(lua.LString(item.Key), v, rev)
}

func (m *module) atomic(c *native.Call) error {
	list, ok := c.Arg(1).(*lua.LTable)
	if !ok {
		c.BadArg(1, "entries: got %s, want table", c.Arg(1).Type())
	}
	n := list.Len()
	if n < 1 || n > entriesMax {
		return about(refuse(CodeTooLarge, "%d entries, want 1..%d", n, entriesMax), "atomic", "")
	}
	entries := make([]Entry, n)
	for i := range entries {
		e, err := m.atomicEntry(c, i+1, list.RawGetInt(i+1))
		if err != nil {
			return err
		}
		entries[i] = e
	}
	revs, failed, err := m.db.Atomic(c.Context(), account{c}, c.Env.Tenant, entries)
	switch {
	case err != nil:
		return err
	case len(failed) > 0:
		return c.Return(lua.LNil, failures(c.Run, failed))
	}
	t := native.MarkList(c.L.CreateTable(n, 0))
	for i, rev := range revs {
		if rev == "" {
			t.RawSetInt(i+1, lua.LFalse)
		} else {
			t.RawSetInt(i+1, lua.LString(rev))
		}
	}
	return c.Return(t)
}

// failures is the first failure, with a list of all in its field all.
func failures(run *vm.Run, failed []Failure) lua.LValue {
	all := native.MarkList(run.Thread().CreateTable(len(failed), 0))
	for i, f := range failed {
		t := run.Thread().NewTable()
		t.RawSetString("index", lua.LNumber(f.Index+1))
		t.RawSetString("key", lua.LString(f.Key))
		t.RawSetString("current", entry(run, f.Current))
		all.RawSetInt(i+1, t)
	}
	first := run.Thread().NewTable()
	all.RawGetInt(1).(*lua.LTable).ForEach(first.RawSet)
	first.RawSetString("all", all)
	return first
}

// atomicEntry reads the n-th entry: { verb, partition, key, ... }.
func (m *module) atomicEntry(c *native.Call, n int, v lua.LValue) (Entry, error) {
	t, ok := v.(*lua.LTable)
	if !ok {
		c.BadArg(1, "entries[%d]: got %s, want table", n, v.Type())
	}
	ud, _ := t.RawGetInt(2).(*lua.LUserData)
	if ud == nil {
		c.BadArg(1, "entries[%d][2]: got %s, want a partition", n, t.RawGetInt(2).Type())
	}
	p, ok := ud.Value.(*Partition)
	if !ok {
		c.BadArg(1, "entries[%d][2]: want a partition", n)
	}
	key, ok := t.RawGetInt(3).(lua.LString)
	if !ok {
		c.BadArg(1, "entries[%d][3]: got %s, want a key", n, t.RawGetInt(3).Type())
	}
	rest := func(at int) any { return data(c, 1, fmt.Sprintf("entries[%d][%d]", n, at), t.RawGetInt(at)) }
	var e Entry
	var err error
	switch verb, _ := t.RawGetInt(1).(lua.LString); verb {
	case "put":
		var val any
		if val, err = valueOf(c.Run, t.RawGetInt(4)); err == nil {
			e, err = p.entryPut(string(key), val, rest(5))
		}
	case "add":
		delta, ok := t.RawGetInt(4).(lua.LNumber)
		if !ok {
			c.BadArg(1, "entries[%d][4]: got %s, want number", n, t.RawGetInt(4).Type())
		}
		e, err = p.entryAdd(string(key), float64(delta), rest(5))
	case "delete":
		e, err = p.entryDelete(string(key), rest(4))
	case "check":
		e, err = p.entryCheck(string(key), rest(4))
	default:
		c.BadArg(1, `entries[%d][1]: want "put", "add", "delete" or "check"`, n)
	}
	return e, inEntry(n, string(key), err)
}
