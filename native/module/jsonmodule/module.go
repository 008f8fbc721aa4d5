// Package jsonmodule is native.json: JSON text to values and back.
//
//	native.json.encode(value) -> text
//	native.json.decode(text, options?) -> value
//	native.json.list(table?) -> the table, marked as a list
//	native.json.null
package jsonmodule

import (
	"fmt"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// New returns the module native.json.
func New() native.Module {
	return native.Module{
		Name: "json",
		Funcs: []native.Func{
			{Name: "encode", Do: encode, Args: 1},
			{Name: "decode", Do: decode, Args: 2},
			native.ListFunc(),
		},
		Values: map[string]lua.LValue{"null": native.LuaNull()},
	}
}

// textMax bounds the text that one call decodes or encodes.
const textMax = 16 << 20

// encode returns a value as JSON text.
func encode(c *native.Call) error {
	if c.NArgs() == 0 {
		c.BadArg(1, "got no value, want a value")
	}
	v, err := native.FromLua(c.Run, c.Arg(1), "value", json.DepthMax)
	if err != nil {
		return refused("encode", "json_value", err)
	}
	text, err := json.Metered{Step: c.Run.Step}.EncodeString(v, "value", textMax)
	if err != nil {
		return refused("encode", "json_value", err)
	}
	c.Run.Charge(int64(len(text)))
	return c.Return(lua.LString(text))
}

// bytesPerValue is about what a decoded value takes in Go: a small table takes
// more, a number less.
const bytesPerValue = 50

// decode returns the value that a JSON text stands for.
func decode(c *native.Call) error {
	text := c.String(1, "text")
	if len(text) > textMax {
		c.BadArg(1, "text: got %d bytes, want at most %d", len(text), textMax)
	}
	m := metered(c.Run)
	if big := c.Options(2, "big"); big.Has("big") {
		if big.String("big", "") != "string" {
			big.Refuse(`big: want "string"`)
		}
		m.BigInteger = asString
	}
	v, err := m.DecodeString(text)
	if err != nil {
		return refused("decode", "json_syntax", err)
	}
	return c.Return(native.ToLua(c.Run, v))
}

// Decode is [json.Decode] under the limits of a run. It warns of integers that are
// rounded.
func Decode[T string | []byte](run *vm.Run, text T) (any, error) {
	m := metered(run)
	if s, ok := any(text).(string); ok {
		return m.DecodeString(s)
	}
	return m.Decode([]byte(text))
}

// metered decodes under the limits of a run.
func metered(run *vm.Run) json.Metered {
	charge := native.MemoryCharger(run)
	return json.Metered{
		Step: func(n int) {
			run.Step(n)
			charge(n * bytesPerValue)
		},
		BigInteger: func(numeral string, nearest float64) any {
			rounded := strconv.FormatFloat(nearest, 'f', 0, 64)
			// The shortest numeral of a double is what programs write for it.
			if numeral != rounded && numeral != strconv.FormatFloat(nearest, 'f', -1, 64) {
				native.WarnOfRounding(run, fmt.Sprintf("an integer in JSON was rounded, from %.40s to %.40s", numeral, rounded))
			}
			return nearest
		},
	}
}

// asString keeps an integer that isn't surely a double as it is written.
func asString(numeral string, nearest float64) any {
	if numeral == "9007199254740992" || numeral == "-9007199254740992" {
		return nearest // 2^53
	}
	return numeral
}

// Encode is [json.Encode] under the limits of a run.
func Encode(run *vm.Run, v any, root string, max int) ([]byte, error) {
	return json.Metered{Step: run.Step}.Encode(v, root, max)
}

func refused(op, code string, err error) error {
	return &outcome.Error{Code: code, Op: op, Message: err.Error(), Cause: err}
}
