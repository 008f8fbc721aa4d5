package native_test

import (
	"testing"
	"testing/synctest"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

// reading is a module whose function read returns what it reads of its options,
// which lie in the argument itself, or in its field options.
func reading(*testing.T, *clock.Dual) []native.Module {
	read := func(c *native.Call) error {
		known := []string{"int", "seconds", "text", "choice", "flag", "number"}
		var o native.Options
		if t, ok := c.Arg(1).(*lua.LTable); ok && t.RawGetString("options") != lua.LNil {
			o = c.OptionsIn(1, "entries[1]", t.RawGetString("options"), known...)
		} else {
			o = c.Options(1, known...)
		}
		t := c.L.NewTable()
		t.RawSetString("int", lua.LNumber(o.Int("int", 7, 1, 10)))
		t.RawSetString("seconds", lua.LNumber(o.Seconds("seconds", time.Hour)))
		t.RawSetString("text", lua.LString(o.Text("text", 5)))
		t.RawSetString("choice", lua.LString(o.Choice("choice", "a", "b")))
		t.RawSetString("flag", lua.LBool(o.Bool("flag")))
		t.RawSetString("number", lua.LNumber(o.Number("number", 0.5, 0, 1)))
		return c.Return(t)
	}
	return []native.Module{{Name: "reading", Funcs: []native.Func{{Name: "read", Do: read}}}}
}

func TestOptions(t *testing.T) {
	const prefix = "bad argument #1 to 'read' ("
	for _, test := range []struct{ name, options, want string }{
		{"Defaults", `nil`, `{"choice":"a","flag":false,"int":7,"number":0.5,"seconds":0,"text":""}`},
		{"Set", `{int = 10, seconds = 1.5, text = "tide", choice = "b", flag = true, number = 1}`,
			`{"choice":"b","flag":true,"int":10,"number":1,"seconds":1500000000,"text":"tide"}`},
		{"LessThanANanosecond", `{seconds = 1e-12}`, `{"choice":"a","flag":false,"int":7,"number":0.5,"seconds":1,"text":""}`},
		{"NotATable", `5`, `"` + prefix + `options: got number, want table)"`},
		{"Null", `native.json.null`, `"` + prefix + `options: got null, want table)"`},
		{"Unknown", `{tex = "x"}`, `"` + prefix + `unknown option \"tex\", did you mean \"text\"?)"`},
		{"NumberAsKey", `{1}`, `"` + prefix + `unknown option: a number as key)"`},
		{"IntWithAFraction", `{int = 1.5}`, `"` + prefix + `int: got 1.5, want a whole number in 1..10)"`},
		{"IntTooLarge", `{int = 11}`, `"` + prefix + `int: got 11, want a whole number in 1..10)"`},
		{"IntNaN", `{int = 0/0}`, `"` + prefix + `int: got NaN, want a whole number in 1..10)"`},
		{"IntOfAnotherType", `{int = "1"}`, `"` + prefix + `int: got string, want number)"`},
		{"NoSeconds", `{seconds = 0}`, `"` + prefix + `seconds: got 0, want more than 0 and at most 3600)"`},
		{"TooManySeconds", `{seconds = math.huge}`, `"` + prefix + `seconds: got +Inf, want more than 0 and at most 3600)"`},
		{"EmptyText", `{text = ""}`, `"` + prefix + `text: got an empty string, want 1..5 bytes)"`},
		{"LongText", `{text = "abcdef"}`, `"` + prefix + `text: got 6 bytes, want 1..5)"`},
		{"TextNotUTF8", `{text = "\255"}`, `"` + prefix + `text: not valid UTF-8)"`},
		{"OtherChoice", `{choice = "c"}`, `"` + prefix + `choice: got \"c\", want \"a\" or \"b\")"`},
		{"FlagOfAnotherType", `{flag = 1}`, `"` + prefix + `flag: got number, want boolean)"`},
		{"InsideOfAnArgument", `{options = {int = 0}}`, `"` + prefix + `entries[1]: int: got 0, want a whole number in 1..10)"`},
		{"InsideNotATable", `{options = 5}`, `"` + prefix + `entries[1]: got number, want table)"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nativetest.New(t, reading).Expect(t, test.want, `return (select(2, pcall(native.reading.read, `+test.options+`)))`)
			})
		})
	}
}
