package lualib

import (
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

var osFunctions = []function{
	{"clock", osClock},
	{"date", osDate},
	{"difftime", osDifftime},
	{"time", osTime},
}

func osClock(c call) int {
	run := c.run()
	return c.retNumber((run.Clock().ElapsedMax() - stateOf(run).started).Seconds())
}

func osDifftime(c call) int {
	return c.retNumber(float64(c.integer(1) - c.integerOr(2, 0)))
}

func now(run *vm.Run) time.Time { return run.Clock().Read().Wall.UTC() }

// fieldMax bounds the fields of a date on both sides, as C's int does.
const fieldMax = math.MaxInt32

func osTime(c call) int {
	if c.absent(1) {
		return c.retNumber(float64(now(c.run()).Unix()))
	}
	t := c.table(1)
	year, month, day := c.field(t, "year"), c.field(t, "month"), c.field(t, "day")
	hour, minute, second := c.fieldOr(t, "hour", 12), c.fieldOr(t, "min", 0), c.fieldOr(t, "sec", 0)
	return c.retNumber(float64(time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix()))
}

// field reads a field of a date table.
func (c call) field(t *lua.LTable, name string) int {
	value := c.GetField(t, name)
	x, ok := toNumber(value)
	if !ok {
		c.raise("field '%s' missing in date table", name)
	}
	n := toInteger(x)
	if n > fieldMax || n < -fieldMax {
		c.raise("field '%s' out of range in date table", name)
	}
	return n
}

func (c call) fieldOr(t *lua.LTable, name string, missing int) int {
	if c.GetField(t, name) == lua.LNil {
		return missing
	}
	return c.field(t, name)
}
