package native

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// NArgs is how many arguments the call has.
func (c *Call) NArgs() int { return c.L.GetTop() }

// Arg returns argument n, nil if there is none.
func (c *Call) Arg(n int) lua.LValue { return c.L.Get(n) }

// checkArgs refuses more arguments than f takes, and the module itself as the
// first one.
func (c *Call) checkArgs(f Func, name string, method bool) {
	if t, ok := c.Arg(1).(*lua.LTable); ok && !method && isFunction(t.RawGetString(f.Name)) && vm.CalledAsMethod(c.L) {
		vm.Raise(c.L, "'%s' is called with a colon: write %s(...)", f.Name, name)
	}
	takes, self := f.Args, 0
	switch {
	case takes == 0 || takes == AnyArgs:
		return
	case takes == NoArgs:
		takes = 0
	}
	if method {
		self = 1
	}
	for n := takes + self + 1; n <= c.NArgs(); n++ {
		if c.Arg(n) != lua.LNil {
			c.Surplus(n-self, takes)
		}
	}
}

func isFunction(v lua.LValue) bool { return v.Type() == lua.LTFunction }

// Surplus raises the error for argument n of a call that takes fewer.
func (c *Call) Surplus(n, takes int) {
	if takes == 0 {
		c.BadArg(n, "no value expected: it takes none")
	}
	c.BadArg(n, "no value expected: it takes %d", takes)
}

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
	if problem := textProblem(s, max); problem != "" {
		c.BadArg(n, "%s: %s", name, problem)
	}
	return s
}

// textProblem returns why s is not valid UTF-8 of 1 to max bytes, or "" if it is.
func textProblem(s string, max int) string {
	switch {
	case s == "":
		return fmt.Sprintf("got an empty string, want 1..%d bytes", max)
	case len(s) > max:
		return fmt.Sprintf("got %d bytes, want 1..%d", len(s), max)
	case !utf8.ValidString(s):
		return "not valid UTF-8"
	}
	return ""
}

// Number requires argument n to be a number in [min, max].
func (c *Call) Number(n int, name string, min, max float64) float64 {
	v, ok := c.Arg(n).(lua.LNumber)
	if !ok {
		c.wrongType(n, name, "number")
	}
	if !within(float64(v), min, max) {
		c.BadArg(n, "%s", got(name, number(float64(v)), interval(min, max)))
	}
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

// number is f in decimal; only huge ones have an exponent.
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
	c.BadArg(n, "%s", got(name, kindOf(c, n), want))
}

// within reports whether v lies in [min, max]; NaN lies nowhere.
func within(v, min, max float64) bool { return v >= min && v <= max }

// interval is [min, max] as errors show it.
func interval(min, max float64) string {
	if max == math.MaxFloat64 {
		return number(min) + " or more"
	}
	return number(min) + ".." + number(max)
}
