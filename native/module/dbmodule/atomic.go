package dbmodule

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

func (m *module) atomic(c *native.Call) error {
	list, ok := c.Arg(1).(*lua.LTable)
	if !ok {
		c.BadArg(1, "entries: got %s, want table", c.Arg(1).Type())
	}
	n := list.Len()
	if n < 1 || n > db.EntriesMax {
		return &outcome.Error{Code: db.CodeTooLarge, Op: "atomic", Message: fmt.Sprintf("%d entries, want 1..%d", n, db.EntriesMax), Applied: outcome.AppliedNo}
	}
	entries := make([]db.Entry, n)
	for i := range entries {
		e, err := entry(c, i+1, list.RawGetInt(i+1))
		if err != nil {
			return err
		}
		entries[i] = e
	}
	revs, failed, err := m.db.Atomic(c.Context(), scope{c}, c.Env.Tenant, entries)
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

// entry reads entry n of a transaction: { verb, partition, key, ... }.
func entry(c *native.Call, n int, v lua.LValue) (db.Entry, error) {
	t, ok := v.(*lua.LTable)
	if !ok {
		c.BadArg(1, "entries[%d]: got %s, want table", n, v.Type())
	}
	p, ok := native.HandleOf[*db.Partition](t.RawGetInt(2))
	if !ok {
		c.BadArg(1, "entries[%d][2]: got %s, want a partition", n, t.RawGetInt(2).Type())
	}
	key, ok := t.RawGetInt(3).(lua.LString)
	if !ok {
		c.BadArg(1, "entries[%d][3]: got %s, want a key", n, t.RawGetInt(3).Type())
	}
	args := operands{Call: c, op: "atomic", key: string(key), fields: t, index: n}
	var e db.Entry
	var err error
	switch verb, _ := t.RawGetInt(1).(lua.LString); verb {
	case "put":
		var stored any
		if stored, err = args.value(2); err != nil {
			return db.Entry{}, err
		}
		e, err = p.ToPut(args.key, stored, args.putOptions(3))
	case "add":
		e, err = p.ToAdd(args.key, args.number(2, "n"), args.addOptions(3))
	case "delete":
		e, err = p.ToDelete(args.key, args.condition(2, "rev"))
	case "check":
		e, err = p.ToCheck(args.key, args.condition(2, "rev", "new"))
	default:
		c.BadArg(1, `entries[%d][1]: want "put", "add", "delete" or "check"`, n)
	}
	return e, args.located(err)
}

// failures is the first failure as a table, with a list of all of them in its
// field all.
func failures(run *vm.Run, failed []db.Failure) lua.LValue {
	all := native.MarkList(run.Thread().CreateTable(len(failed), 0))
	for i, f := range failed {
		t := run.Thread().NewTable()
		t.RawSetString("index", lua.LNumber(f.Index+1))
		t.RawSetString("key", lua.LString(f.Key))
		t.RawSetString("current", document(run, f.Current))
		all.RawSetInt(i+1, t)
	}
	first := run.Thread().NewTable()
	all.RawGetInt(1).(*lua.LTable).ForEach(first.RawSet)
	first.RawSetString("all", all)
	return first
}
