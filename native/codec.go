package native

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// FromLua turns a Lua value into a tree of the types of package value; nil
// stays nil. At most depth containers may lie in each other; a table that
// contains itself exceeds any depth. Functions, threads, userdata other than
// null, tables that are neither lists nor maps, NaN and infinities are refused
// with a [*value.Error], in which root names the value.
func FromLua(run *vm.Run, v lua.LValue, root string, depth int) (any, error) {
	d := decoder{charger: charger{run: run}, depth: depth, root: root}
	return d.value(v)
}

type decoder struct {
	charger
	depth int
	root  string
	path  []step
}

// step leads from a container to one of its values: by a map's key, or, if
// index isn't 0, by a list's index.
type step struct {
	key   string
	index int
}

// pathMax is how many steps of a path are shown: that of a table in itself has
// as many as there may be.
const pathMax = 40

func (d *decoder) fail(format string, args ...any) error {
	path := d.root
	for i, s := range d.path {
		if i == pathMax {
			path += "..."
			break
		}
		path += s.String()
	}
	return &value.Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func (s step) String() string {
	switch {
	case s.index > 0:
		return fmt.Sprintf("[%d]", s.index)
	case len(s.key) <= 64 && identifier(s.key):
		return "." + s.key
	}
	return fmt.Sprintf("[%.64q]", s.key)
}

func (d *decoder) value(v lua.LValue) (any, error) {
	d.run.Step(1)
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		d.add(len(v)) // again wherever it lies
		return string(v), nil
	case lua.LNumber:
		if f := float64(v); math.IsNaN(f) {
			return nil, d.fail("NaN is not a value")
		} else if math.IsInf(f, 0) {
			return nil, d.fail("an infinity is not a value")
		}
		return float64(v), nil
	case *lua.LTable:
		return d.table(v)
	}
	if v == luaNull {
		return value.Null{}, nil
	}
	return nil, d.fail("%s", v.Type())
}

// table finds out what t is by counting its keys: neither its length nor the
// way it was built tells whether it has holes.
func (d *decoder) table(t *lua.LTable) (any, error) {
	vm.Materialize(t)
	if len(d.path) >= d.depth {
		return nil, d.fail("more than %d tables deep, or a table that contains itself", d.depth)
	}
	names, numbers, largest := 0, 0, 0
	var err error
	t.ForEach(func(key, _ lua.LValue) {
		d.run.Step(1)
		switch k := key.(type) {
		case lua.LString:
			names++
			if k == "" || !utf8.ValidString(string(k)) {
				err = d.fail("a key that is empty or not UTF-8")
			}
		case lua.LNumber:
			numbers++
			if i := int(k); k == lua.LNumber(i) && i >= 1 && k <= math.MaxInt32 {
				largest = max(largest, i)
			} else {
				err = d.fail("key %s of a list: write tostring(key) for a map", number(float64(k)))
			}
		default:
			err = d.fail("a %s as key", key.Type())
		}
	})
	switch {
	case err != nil:
		return nil, err
	case numbers > 0 && names > 0:
		return nil, d.fail("both numbers and strings as keys: write tostring(key) for a map")
	case numbers != largest:
		return nil, d.fail("a list with holes: %d of %d elements: write null for those that are missing, or tostring(key) for a map", numbers, largest)
	case numbers > 0:
		return d.list(t, numbers)
	case IsList(t) && names > 0:
		return nil, d.fail("a list with strings as keys")
	case IsList(t):
		return value.List{}, nil
	}
	return d.stringMap(t, names)
}

func (d *decoder) list(t *lua.LTable, n int) (any, error) {
	d.addTable(n, 0)
	list := make(value.List, n)
	for i := range list {
		v, err := d.at(step{index: i + 1}, t.RawGet(lua.LNumber(i+1))) // past the array too
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (d *decoder) stringMap(t *lua.LTable, n int) (any, error) {
	d.addTable(0, n)
	keys := make([]string, 0, n)
	t.ForEach(func(key, _ lua.LValue) { keys = append(keys, string(key.(lua.LString))) })
	// Sorted, so that the first error is always the same.
	slices.SortFunc(keys, func(a, b string) int {
		d.run.Step(1)
		return strings.Compare(a, b)
	})
	m := make(value.Map, n)
	for _, k := range keys {
		v, err := d.at(step{key: k}, t.RawGetString(k))
		if err != nil {
			return nil, err
		}
		m[k] = v
	}
	return m, nil
}

func (d *decoder) at(s step, v lua.LValue) (any, error) {
	d.path = append(d.path, s)
	out, err := d.value(v)
	d.path = d.path[:len(d.path)-1]
	return out, err
}

// identifier reports whether s can stand behind a dot.
func identifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// ToLua turns a tree of the types of package value into a Lua value. Lists are
// marked, so that they stay lists when they are empty.
func ToLua(run *vm.Run, v any) lua.LValue {
	c := charger{run: run}
	return c.toLua(v)
}

func (c *charger) toLua(v any) lua.LValue {
	c.run.Step(1)
	switch v := v.(type) {
	case nil:
		return lua.LNil
	case value.Null:
		return luaNull
	case bool:
		return lua.LBool(v)
	case float64:
		c.noteBig(v)
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case value.List:
		c.addTable(len(v), 0)
		t := MarkList(c.run.Thread().CreateTable(len(v), 0))
		for i, e := range v {
			t.RawSetInt(i+1, c.toLua(e))
		}
		return t
	case value.Map:
		c.addTable(0, len(v))
		t := c.run.Thread().CreateTable(0, len(v))
		for k, e := range v {
			t.RawSetString(k, c.toLua(e))
		}
		return t
	}
	panic(fmt.Sprintf("native: %T is no value type", v))
}
