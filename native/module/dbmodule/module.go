// Package dbmodule is native.db as scripts see it.
package dbmodule

import (
	"fmt"
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// New returns the module native.db over d. If d is nil, its functions raise
// that no database is configured.
func New(d *db.DB) native.Module {
	m := &module{db: d}
	m.methods = native.Methods("partition",
		native.Func{Name: "get", Do: get, Args: 2},          // (key, {stale}) -> value, rev | nil
		native.Func{Name: "get_many", Do: getMany, Args: 2}, // ({key, ...}, {stale}) -> values, revs, by key
		native.Func{Name: "put", Do: put, Args: 3},          // (key, value, {rev | new, ttl}) -> rev | nil, current
		native.Func{Name: "delete", Do: remove, Args: 2},    // (key, {rev}) -> true | false, current
		native.Func{Name: "add", Do: add, Args: 3},          // (key, n, {ttl, min, max}) -> sum | nil, current
		native.Func{Name: "update", Do: update, Args: 2},    // (key, function(value, rev) -> value) -> value, rev | nil
		native.Func{Name: "list", Do: list, Args: 1},        // ({prefix, after, before, reverse, limit, keys, stale}) -> page
		native.Func{Name: "each", Do: m.each, Args: 1},      // (same) -> iterator of key, value, rev
	)
	m.step = native.Func{Name: "each", Do: next, Args: native.AnyArgs}.Function()
	return native.Module{
		Name: "db",
		Funcs: []native.Func{
			{Name: "open", Do: m.open, Args: 1},     // (name) -> partition
			{Name: "atomic", Do: m.atomic, Args: 1}, // ({{"put", partition, key, ...}, ...}) -> revs | nil, failed
			native.ListFunc(),                       // (table) -> the table, marked as a list
		},
		Values: map[string]lua.LValue{"null": native.LuaNull()},
	}
}

// module is native.db for all runs of the process.
type module struct {
	db      *db.DB
	methods *lua.LTable    // of partitions
	step    *lua.LFunction // what each hands to the loop
}

// scope is the run that a call is made for.
type scope struct{ *native.Call }

// Spend checks for an interrupt before it pays: since the call began, there may
// have been a pause, or a function of the script.
func (s scope) Spend(n int64) error {
	s.Run.CheckInterrupt()
	if ops := s.Env.DataOps; !ops.Spend(n) {
		return &outcome.Error{Code: db.CodeBudget, Message: fmt.Sprintf("%s: all %d data operations of the run are used up", ops.Name, ops.Limit)}
	}
	return nil
}

func (s scope) Remaining() (time.Duration, bool) { return s.Run.Remaining() }

func (m *module) open(c *native.Call) error {
	name := c.String(1, "name")
	if m.db == nil {
		return &outcome.Error{Code: db.CodeUnavailable, Op: "open", Key: name, Message: "no database is configured: set db.table or db.file"}
	}
	p, err := m.db.Open(c.Env.Tenant, name)
	if err != nil {
		return err
	}
	return c.Return(native.NewHandle(p, m.methods))
}

// self takes the partition and the key off the call of a method.
func self(c *native.Call, op string) (*db.Partition, operands) {
	p := native.Self[*db.Partition](c, "a partition")
	return p, operands{Call: c, op: op, key: c.String(1, "key")}
}

func get(c *native.Call) error {
	p, args := self(c, "get")
	stale := args.options(2, "stale").Bool("stale")
	row, err := p.Get(c.Context(), scope{c}, args.key, stale)
	if err != nil {
		return err
	}
	return c.Return(valueAndRev(c.Run, row))
}

func getMany(c *native.Call) error {
	p := native.Self[*db.Partition](c, "a partition")
	stale := operands{Call: c, op: "get_many"}.options(2, "stale").Bool("stale")
	rows, err := p.GetMany(c.Context(), scope{c}, keysOf(c), stale)
	if err != nil {
		return err
	}
	values, revs := c.L.CreateTable(0, len(rows)), c.L.CreateTable(0, len(rows))
	for key, row := range rows {
		v, rev := valueAndRev(c.Run, row)
		values.RawSetString(key, v)
		revs.RawSetString(key, rev)
	}
	return c.Return(values, revs)
}

// keysOf requires argument 1 to be a list of strings.
func keysOf(c *native.Call) []string {
	t, ok := c.Arg(1).(*lua.LTable)
	if !ok {
		c.BadArg(1, "keys: got %s, want a list of strings", c.Arg(1).Type())
	}
	tree, err := native.FromLua(c.Run, t, "keys", 1)
	if err != nil {
		c.BadArg(1, "%v", err)
	}
	list, isList := tree.(value.List)
	if m, isMap := tree.(value.Map); !isList && (!isMap || len(m) > 0) {
		c.BadArg(1, "keys: got table with names, want a list of strings")
	}
	keys := make([]string, len(list))
	for i, v := range list {
		key, ok := v.(string)
		if !ok {
			c.BadArg(1, "keys[%d]: got %s, want string", i+1, t.RawGetInt(i+1).Type())
		}
		keys[i] = key
	}
	return keys
}

func put(c *native.Call) error {
	p, args := self(c, "put")
	v, err := args.value(2)
	if err != nil {
		return err
	}
	rev, current, err := p.Put(c.Context(), scope{c}, args.key, v, args.putOptions(3))
	switch {
	case err != nil:
		return err
	case rev == "":
		return c.Return(lua.LNil, document(c.Run, current))
	}
	return c.Return(lua.LString(rev))
}

func remove(c *native.Call) error {
	p, args := self(c, "delete")
	ok, current, err := p.Delete(c.Context(), scope{c}, args.key, args.condition(2, "rev"))
	switch {
	case err != nil:
		return err
	case !ok:
		return c.Return(lua.LFalse, document(c.Run, current))
	}
	return c.Return(lua.LTrue)
}

func add(c *native.Call) error {
	p, args := self(c, "add")
	result, err := p.Add(c.Context(), scope{c}, args.key, args.number(2, "n"), args.addOptions(3))
	switch {
	case err != nil:
		return err
	case !result.Applied:
		return c.Return(lua.LNil, document(c.Run, result.Current))
	}
	return c.Return(lua.LNumber(result.Sum))
}

// update calls the script's function between requests: nothing is held open
// while it runs.
func update(c *native.Call) error {
	p, args := self(c, "update")
	c.Function(2)
	fn := c.Arg(2)
	row, err := p.Update(c.Context(), scope{c}, args.key, func(row *db.Row) (any, error) {
		v, rev := valueAndRev(c.Run, row)
		c.L.Push(fn)
		c.L.Push(v)
		c.L.Push(rev)
		c.L.Call(2, 1)
		c.Renew()
		changed := c.L.Get(-1)
		c.L.Pop(1)
		return args.valueOf(changed)
	})
	if err != nil {
		return err
	}
	return c.Return(valueAndRev(c.Run, row))
}

func list(c *native.Call) error {
	p := native.Self[*db.Partition](c, "a partition")
	page, err := p.List(c.Context(), scope{c}, listOptions(c, "list", db.PageMax))
	if err != nil {
		return err
	}
	items := native.MarkList(c.L.CreateTable(len(page.Items), 0))
	for i, item := range page.Items {
		t := document(c.Run, &item.Row).(*lua.LTable)
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
	p := native.Self[*db.Partition](c, "a partition")
	iterator, err := p.Iterate(listOptions(c, "each", math.MaxInt32))
	if err != nil {
		return err
	}
	return c.Return(m.step, native.NewHandle(iterator, nil))
}

// next is one step of the loop over each.
func next(c *native.Call) error {
	iterator, ok := native.HandleOf[*db.Iterator](c.Arg(1))
	if !ok {
		c.BadArg(1, "got %s, want what each returned", c.Arg(1).Type())
	}
	item, err := iterator.Next(c.Context(), scope{c})
	if err != nil {
		return err
	}
	if item == nil {
		return c.Return(lua.LNil)
	}
	v, rev := valueAndRev(c.Run, &item.Row)
	return c.Return(lua.LString(item.Key), v, rev)
}
