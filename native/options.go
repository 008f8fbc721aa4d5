package native

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Options is a table of options in the arguments of a call. Its methods return
// the default of an option that is not set, and raise an argument error for one
// that is set to anything that they don't take.
type Options struct {
	call  *Call
	arg   int
	place string      // where in the argument the table lies, "" if it is the argument
	table *lua.LTable // nil if there is none
}

// Options requires argument n to be nil, or a table with no keys but the known
// ones.
func (c *Call) Options(n int, known ...string) Options {
	o := Options{call: c, arg: n}
	o.read("options", c.Arg(n), known)
	return o
}

// OptionsIn is like [Call.Options] for options that lie somewhere in argument n:
// v, which lies at place, such as "entries[2][5]". Errors begin with the place.
func (c *Call) OptionsIn(n int, place string, v lua.LValue, known ...string) Options {
	o := Options{call: c, arg: n, place: place}
	o.read("", v, known)
	return o
}

func (o *Options) read(name string, v lua.LValue, known []string) {
	if v == lua.LNil {
		return
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		o.Refuse("%s", got(name, kind(v), "table"))
	}
	o.table = t
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		name, ok := key.(lua.LString)
		if !ok {
			o.Refuse("unknown option: a %s as key", key.Type())
		}
		if !slices.Contains(known, string(name)) {
			o.Refuse("%s", UnknownOption(string(name), known))
		}
	}
}

// Refuse raises the argument error of the argument that the options are, or lie
// in. Its text begins with the name of the option.
func (o Options) Refuse(format string, args ...any) {
	if o.place != "" {
		format, args = "%s: "+format, append([]any{o.place}, args...)
	}
	o.call.BadArg(o.arg, format, args...)
}

// Get returns the raw value of an option, nil if it is not set.
func (o Options) Get(name string) lua.LValue {
	if o.table == nil {
		return lua.LNil
	}
	return o.table.RawGetString(name)
}

// Has reports whether the option is set.
func (o Options) Has(name string) bool { return o.Get(name) != lua.LNil }

// Number returns an option that must be a number in [min, max], byDefault if
// it is not set.
func (o Options) Number(name string, byDefault, min, max float64) float64 {
	if !o.Has(name) {
		return byDefault
	}
	n := float64(option[lua.LNumber](o, name, "number"))
	if !within(n, min, max) {
		o.Refuse("%s", got(name, number(n), interval(min, max)))
	}
	return n
}

// Int returns an option that must be a whole number in [min, max], byDefault if
// it is not set. Numbers of Lua are exact up to 2^53.
func (o Options) Int(name string, byDefault, min, max int) int {
	if !o.Has(name) {
		return byDefault
	}
	n := float64(option[lua.LNumber](o, name, "number"))
	if !within(n, float64(min), float64(max)) || n != math.Trunc(n) {
		o.Refuse("%s", got(name, number(n), "a whole number in "+interval(float64(min), float64(max))))
	}
	return int(n)
}

// Millis returns an option in milliseconds as a duration in [min, max],
// byDefault if it is not set. A max of [Unbounded] refuses infinity only.
func (o Options) Millis(name string, byDefault, min, max time.Duration) time.Duration {
	if !o.Has(name) {
		return byDefault
	}
	return millis(o.Number(name, 0, inMillis(min), inMillis(max)))
}

// Seconds returns an option in seconds as a duration of more than 0 and at most
// longest, 0 if it is not set. Less than a nanosecond counts as one.
func (o Options) Seconds(name string, longest time.Duration) time.Duration {
	if !o.Has(name) {
		return 0
	}
	n := float64(option[lua.LNumber](o, name, "number"))
	if !(n > 0 && n <= longest.Seconds()) {
		o.Refuse("%s", got(name, number(n), "more than 0 and at most "+number(longest.Seconds())))
	}
	return max(time.Duration(n*float64(time.Second)), 1)
}

// Bool returns an option that must be a boolean, false if it is not set.
func (o Options) Bool(name string) bool {
	return o.Has(name) && bool(option[lua.LBool](o, name, "boolean"))
}

// String returns an option that must be a string, byDefault if it is not set.
func (o Options) String(name, byDefault string) string {
	if !o.Has(name) {
		return byDefault
	}
	return string(option[lua.LString](o, name, "string"))
}

// Text returns an option that must be valid UTF-8 of 1 to max bytes, "" if it is
// not set.
func (o Options) Text(name string, max int) string {
	if !o.Has(name) {
		return ""
	}
	s := o.String(name, "")
	if problem := textProblem(s, max); problem != "" {
		o.Refuse("%s: %s", name, problem)
	}
	return s
}

// Choice returns an option that must be one of choices; the first is the
// default.
func (o Options) Choice(name string, choices ...string) string {
	v := o.String(name, choices[0])
	if !slices.Contains(choices, v) {
		o.Refuse("%s: got %.64q, want %s", name, v, quoted(choices))
	}
	return v
}

// option returns an option that is set, which must be a T.
func option[T lua.LValue](o Options, name, want string) T {
	v, ok := o.Get(name).(T)
	if !ok {
		o.Refuse("%s", got(name, kind(o.Get(name)), want))
	}
	return v
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, " or ")
}
