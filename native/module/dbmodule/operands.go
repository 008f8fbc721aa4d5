package dbmodule

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// operands are the key of a write and what follows it, counted from the key as
// 1: the arguments of a method, or the rest of an entry of a transaction.
type operands struct {
	*native.Call
	op, key string
	// fields and index are the table of an entry and its place among the
	// entries; fields is nil for a method.
	fields *lua.LTable
	index  int
}

// entryFields is how many fields an entry has before its key: the verb and the
// partition.
const entryFields = 2

// at returns operand n, nil if there is none.
func (a operands) at(n int) lua.LValue {
	if a.fields == nil {
		return a.Arg(n)
	}
	return a.fields.RawGetInt(n + entryFields)
}

// wrongType raises the argument error for operand n, called name.
func (a operands) wrongType(n int, name, want string) {
	arg := n
	if a.fields != nil {
		arg, name = 1, fmt.Sprintf("entries[%d][%d]", a.index, n+entryFields)
	}
	a.BadArg(arg, "%s: got %s, want %s", name, a.at(n).Type(), want)
}

// refused is the error for an operand that is of the right kind and can't be
// taken all the same.
func (a operands) refused(code, message string) error {
	return a.located(&outcome.Error{Code: code, Message: message, Op: a.op, Key: a.key, Applied: outcome.AppliedNo})
}

// located names the entry in an error about one entry of a transaction.
func (a operands) located(err error) error {
	e, ok := err.(*outcome.Error)
	if !ok || a.fields == nil {
		return err
	}
	named := *e
	named.Message = fmt.Sprintf("entry %d: %s", a.index, e.Message)
	named.Op, named.Key = "atomic", a.key
	return &named
}

// number requires operand n to be a number.
func (a operands) number(n int, name string) float64 {
	v, ok := a.at(n).(lua.LNumber)
	if !ok {
		a.wrongType(n, name, "number")
	}
	return float64(v)
}

// value returns operand n as it is stored, nil for nil.
func (a operands) value(n int) (any, error) { return a.valueOf(a.at(n)) }

func (a operands) valueOf(v lua.LValue) (any, error) {
	tree, err := native.FromLua(a.Run, v, "value", db.DepthMax)
	if err != nil {
		return nil, a.refused(db.CodeValue, err.Error())
	}
	return tree, nil
}

// options reads operand n. What is wrong with an option is raised with the code
// db_option, and not as an argument error, so that scripts can tell it.
func (a operands) options(n int, known ...string) native.Options {
	v := a.at(n)
	switch v.Type() {
	case lua.LTNil:
		return native.Options{} // none is set
	case lua.LTTable:
	default:
		a.wrongType(n, "options", "table")
	}
	return a.OptionsOf(v, func(text string) error { return a.refused(db.CodeOption, text) }, known...)
}

func (a operands) putOptions(n int) db.PutOptions {
	o := a.options(n, "rev", "new", "ttl")
	return db.PutOptions{If: condition(o), TTL: o.Seconds("ttl", db.TTLMax)}
}

func (a operands) addOptions(n int) db.AddOptions {
	o := a.options(n, "ttl", "min", "max")
	return db.AddOptions{TTL: o.Seconds("ttl", db.TTLMax), Min: bound(o, "min"), Max: bound(o, "max")}
}

// condition reads the condition of a write that has no other options than the
// known ones.
func (a operands) condition(n int, known ...string) db.Condition {
	return condition(a.options(n, known...))
}

func condition(o native.Options) db.Condition {
	rev := o.String("rev", "")
	if rev == "" && o.Has("rev") {
		o.Refuse("rev: got an empty string, want the revision of an entry")
	}
	return db.Condition{Rev: rev, New: o.Bool("new")}
}

// bound reads a bound of an addition, nil if it is not set.
func bound(o native.Options, name string) *float64 {
	if !o.Has(name) {
		return nil
	}
	n := o.Number(name, 0, -db.WholeMax, db.WholeMax)
	return &n
}

// listOptions reads the options of a listing of at most limitMax entries.
func listOptions(c *native.Call, op string, limitMax int) db.ListOptions {
	o := operands{Call: c, op: op}.options(1, "prefix", "after", "before", "reverse", "limit", "keys", "stale")
	return db.ListOptions{
		Prefix: o.String("prefix", ""), After: o.String("after", ""), Before: o.String("before", ""),
		Reverse: o.Bool("reverse"), Keys: o.Bool("keys"), Stale: o.Bool("stale"),
		Limit: o.Int("limit", 0, 1, limitMax),
	}
}

// valueAndRev returns what is stored in a row and its revision, nils for none.
func valueAndRev(run *vm.Run, row *db.Row) (lua.LValue, lua.LValue) {
	if row == nil {
		return lua.LNil, lua.LNil
	}
	run.Charge(int64(db.Size(row.Value)))
	return native.ToLua(run, row.Value), lua.LString(row.Rev)
}

// document is a row as a table, { value =, rev = }, nil for none.
func document(run *vm.Run, row *db.Row) lua.LValue {
	if row == nil {
		return lua.LNil
	}
	t := run.Thread().NewTable()
	v, rev := valueAndRev(run, row)
	t.RawSetString("value", v)
	t.RawSetString("rev", rev)
	return t
}
