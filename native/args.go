package native

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/spelling"
)

// NArgs is how many arguments the call has.
func (c *Call) NArgs() int { return c.L.GetTop() }

// Arg returns argument n, nil if there is none.
func (c *Call) Arg(n int) lua.LValue { return c.L.Get(n) }

// Function requires argument n to be a function.
func (c *Call) Function(n int) {
	if c.Arg(n).Type() != lua.LTFunction {
		c.wrongType(n, "", "function")
	}
}

// String requires argument n, called name in errors, to be a string.
func (c *Call) String(n int, name string) string {
	s, ok := c.Arg(n).(lua.LString)
	if !ok {
		c.wrongType(n, name, "string")
	}
	return string(s)
}

// Text requires argument n to be valid UTF-8 of 1 to max bytes.
func (c *Call) Text(n int, name string, max int) string {
	s := c.String(n, name)
	switch {
	case s == "":
		c.BadArg(n, "%s: got an empty string, want 1..%d bytes", name, max)
	case len(s) > max:
		c.BadArg(n, "%s: got %d bytes, want 1..%d", name, len(s), max)
	case !utf8.ValidString(s):
		c.BadArg(n, "%s: not valid UTF-8", name)
	}
	return s
}

// Number requires argument n to be a number in [min, max].
func (c *Call) Number(n int, name string, min, max float64) float64 {
	v, ok := c.Arg(n).(lua.LNumber)
	if !ok {
		c.wrongType(n, name, "number")
	}
	c.inRange(n, name, float64(v), min, max)
	return float64(v)
}

// Millis requires argument n to be a number of milliseconds in [min, max]; a
// max of [Unbounded] refuses infinity only. Fractions of a nanosecond are cut.
func (c *Call) Millis(n int, name string, min, max time.Duration) time.Duration {
	return millis(c.Number(n, name, inMillis(min), inMillis(max)))
}

// Unbounded is the largest duration, about 292 years.
const Unbounded = time.Duration(math.MaxInt64)

func millis(ms float64) time.Duration {
	if ms >= float64(Unbounded)/float64(time.Millisecond) {
		return Unbounded
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func inMillis(d time.Duration) float64 {
	if d == Unbounded {
		return math.MaxFloat64
	}
	return float64(d) / float64(time.Millisecond)
}

// number is f as people write it; only huge ones have an exponent.
func number(f float64) string {
	if math.Abs(f) >= 1e21 {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func got(name, have, want string) string {
	text := "got " + have + ", want " + want
	if name == "" {
		return text
	}
	return name + ": " + text
}

func (c *Call) wrongType(n int, name, want string) {
	have := c.Arg(n).Type().String()
	if n > c.NArgs() {
		have = "no value"
	}
	c.BadArg(n, "%s", got(name, have, want))
}

func (c *Call) inRange(n int, name string, v, min, max float64) {
	if v >= min && v <= max {
		return
	}
	want := number(min) + ".." + number(max)
	if max == math.MaxFloat64 {
		want = number(min) + " or more"
	}
	c.BadArg(n, "%s", got(name, number(v), want))
}

// Options is a table of options at one argument of a call.
type Options struct {
	call  *Call
	arg   int
	table *lua.LTable // nil if the argument is missing
}

// Options requires argument n to be nil or a table with none but the known
// keys.
func (c *Call) Options(n int, known ...string) Options {
	o := Options{call: c, arg: n}
	v := c.Arg(n)
	if v == lua.LNil {
		return o
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		c.wrongType(n, "options", "table")
	}
	o.table = t
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		name, ok := key.(lua.LString)
		if !ok {
			c.BadArg(n, "unknown option: a %s as key", key.Type())
		}
		if !slices.Contains(known, string(name)) {
			c.BadArg(n, "%s", UnknownOption(string(name), known))
		}
	}
	return o
}

// Get returns the raw value of an option, nil if it is not set.
func (o Options) Get(name string) lua.LValue {
	if o.table == nil {
		return lua.LNil
	}
	return o.table.RawGetString(name)
}

// Has says whether the option is set.
func (o Options) Has(name string) bool { return o.Get(name) != lua.LNil }

// Number returns an option that must be a number in [min, max], byDefault if
// it is not set.
func (o Options) Number(name string, byDefault, min, max float64) float64 {
	switch v := o.Get(name).(type) {
	case *lua.LNilType:
		return byDefault
	case lua.LNumber:
		o.call.inRange(o.arg, name, float64(v), min, max)
		return float64(v)
	default:
		o.wrongType(name, "number")
		return 0
	}
}

// Millis returns an option in milliseconds as a duration.
func (o Options) Millis(name string, byDefault, min, max time.Duration) time.Duration {
	if !o.Has(name) {
		return byDefault
	}
	return millis(o.Number(name, 0, inMillis(min), inMillis(max)))
}

// Bool returns an option that must be a boolean, false if it is not set.
func (o Options) Bool(name string) bool {
	switch v := o.Get(name).(type) {
	case *lua.LNilType:
		return false
	case lua.LBool:
		return bool(v)
	default:
		o.wrongType(name, "boolean")
		return false
	}
}

// String returns an option that must be a string, byDefault if it is not set.
func (o Options) String(name, byDefault string) string {
	switch v := o.Get(name).(type) {
	case *lua.LNilType:
		return byDefault
	case lua.LString:
		return string(v)
	default:
		o.wrongType(name, "string")
		return ""
	}
}

// Choice returns an option that must be one of choices; the first is the
// default.
func (o Options) Choice(name string, choices ...string) string {
	v := o.String(name, choices[0])
	for _, c := range choices {
		if v == c {
			return v
		}
	}
	o.call.BadArg(o.arg, "%s: got %.64q, want %s", name, v, quoted(choices))
	return ""
}

// UnknownOption is the message for an option that doesn't exist; it names the
// one that was probably meant.
func UnknownOption(name string, known []string) string {
	text := fmt.Sprintf("unknown option %.64q", name)
	if near := spelling.Nearest(name, known); near != "" {
		return text + fmt.Sprintf(", did you mean %q?", near)
	}
	return text + ", known are " + strings.Join(known, ", ")
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, " or ")
}

func (o Options) wrongType(name, want string) {
	o.call.BadArg(o.arg, "%s", got(name, o.Get(name).Type().String(), want))
}
