package native_test

import (
	"testing"
	"testing/synctest"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

func TestSurplusArgumentsAreRefused(t *testing.T) {
	do := func(*native.Call) error { return nil }
	methods := native.Methods("box", native.Func{Name: "put", Args: 1, Do: func(c *native.Call) error {
		native.Self[int](c, "a box")
		return nil
	}})
	open := func(*testing.T, *clock.Dual) []native.Module {
		return []native.Module{{Name: "box", Funcs: []native.Func{
			{Name: "none", Do: do, Args: native.NoArgs},
			{Name: "two", Do: do, Args: 2},
			{Name: "any", Do: do, Args: native.AnyArgs},
			{Name: "open", Args: native.NoArgs, Do: func(c *native.Call) error { return c.Return(native.NewHandle(1, methods)) }},
		}, Values: map[string]lua.LValue{}}}
	}
	for _, test := range []struct{ source, want string }{
		{`native.box.none()`, ""},
		{`native.box.none(nil)`, ""},
		{`native.box.none(1)`, "bad argument #1 to 'none' (no value expected: it takes none)"},
		{`native.box.two(1, 2)`, ""},
		{`native.box.two(1, 2, nil, nil)`, ""},
		{`native.box.two(1, 2, 3)`, "bad argument #3 to 'two' (no value expected: it takes 2)"},
		{`native.box.two(1, 2, nil, false)`, "bad argument #4 to 'two' (no value expected: it takes 2)"},
		{`native.box.any(1, 2, 3, 4)`, ""},
		{`native.box.open():put(1)`, ""},
		{`native.box.open():put(1, 2)`, "bad argument #2 to 'put' (no value expected: it takes 1)"},
		{`local box = native.box.open() box.put(1)`, "bad argument #1 to 'put' (self: got number, want a box: call it with a colon, box:put(...))"},
		{`native.box.open().put(1)`, "bad argument #1 to 'put' (self: got number, want a box: call it with a colon)"},
		{`native.box:two(1)`, "'two' is called with a colon: write native.box.two(...)"},
		{`native.box:none()`, "'none' is called with a colon: write native.box.none(...)"},
		{`local b = native.box b:any(1, 2)`, "'any' is called with a colon: write native.box.any(...)"},
		{`return native.box:any()`, "'any' is called with a colon: write native.box.any(...)"},
		{`native.box.any(native.box)`, ""}, // the module itself as a value
	} {
		synctest.Test(t, func(t *testing.T) {
			r := nativetest.New(t, open).Run(t, "a", test.source)
			got := ""
			if r.Error != nil {
				got = r.Error.Message
			}
			if want := test.want; got != want && got != "test.lua:1: "+want {
				t.Errorf("%s:\n got  %s\n want %s", test.source, got, want)
			}
		})
	}
}
