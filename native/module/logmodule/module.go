// Package logmodule is native.log and print: what a script logs. Records go
// through the host's logger as fields, never as raw lines, so no script can forge
// a record or a metric.
//
//	native.log.debug(message, fields?)   and info, warn, error
//	print(...)                           info, its arguments joined by tabs
package logmodule

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// New returns the module native.log.
func New() native.Module {
	m := native.Module{Name: "log"}
	for _, level := range []string{"debug", "info", "warn", "error"} {
		m.Funcs = append(m.Funcs, native.Func{Name: level, Args: 2, Do: func(c *native.Call) error { return log(c, level) }})
	}
	return m
}

// depthMax is how deep the fields of a record may be nested.
const depthMax = 10

func log(c *native.Call, level string) error {
	message := c.String(1, "message")
	var fields value.Map
	if c.Arg(2) != lua.LNil {
		v, err := native.FromLua(c.Run, c.Arg(2), "fields", depthMax)
		if err != nil {
			c.BadArg(2, "%s", err.Error())
		}
		var ok bool
		if fields, ok = v.(value.Map); !ok {
			c.BadArg(2, "fields: got %s, want a table with string keys", c.Arg(2).Type())
		}
	}
	spend(c, len(message), fields)
	c.Env.Log.Log(level, message, fields)
	return nil
}

// Print is the global function print.
func Print() *lua.LFunction {
	return native.Func{Name: "print", Args: native.AnyArgs, Do: func(c *native.Call) error {
		words := make([]string, c.NArgs())
		bytes := max(len(words)-1, 0) // tabs
		for i := range words {
			words[i] = text(c, c.Arg(i+1))
			bytes += len(words[i])
		}
		spend(c, bytes, nil) // the words may be one long text, many times
		c.Env.Log.Log("info", strings.Join(words, "\t"), nil)
		return nil
	}}.Function()
}

// text is what tostring makes of v: the script's own, if it has replaced it.
func text(c *native.Call, v lua.LValue) string {
	if s, ok := v.(lua.LString); ok {
		return string(s)
	}
	globals := c.Run.Globals()
	vm.Materialize(globals) // print may be all that the script has touched
	c.L.Push(globals.RawGetString("tostring"))
	c.L.Push(v)
	c.L.Call(1, 1)
	s, ok := c.L.Get(-1).(lua.LString)
	c.L.Pop(1)
	if !ok {
		vm.Raise(c.L, "'tostring' must return a string to 'print'")
	}
	return string(s)
}

// recordBytes is about what a record takes besides its text and fields: time,
// level, names.
const recordBytes = 100

// spend takes a record from the run's budget before it is made.
func spend(c *native.Call, bytes int, fields value.Map) {
	if budget := c.Env.LogBytes; !budget.Spend(recordBytes + int64(bytes) + size(fields)) {
		c.Run.RaiseLimit(vm.Cause(budget.Name), budget.Limit)
	}
}

// size is about how many bytes a value takes in a record.
func size(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v)) + 2
	case value.List:
		n := int64(2)
		for _, e := range v {
			n += size(e)
		}
		return n
	case value.Map:
		n := int64(2)
		for k, e := range v {
			n += int64(len(k)) + 4 + size(e)
		}
		return n
	}
	return 8
}
