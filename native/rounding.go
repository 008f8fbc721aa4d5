package native

import (
	"fmt"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// integersMax is the number up to which all integers are doubles.
const integersMax = 1 << 53

// roundedKey is where a run keeps that it was warned.
type roundedKey struct{}

// WarnOfRounding writes to the log, once in a run, that an integer became another
// number. what says where it was, and which.
func WarnOfRounding(run *vm.Run, what string) {
	if run.Value(roundedKey{}) != nil {
		return
	}
	run.SetValue(roundedKey{}, true)
	EnvOf(run).Log.Log("warn", what+": numbers are doubles, exact up to 2^53; integers beyond should be strings", nil)
}

// noteBig keeps the number nearest to zero of those that may have been integers
// that were rounded. That one does not depend on the order in which the fields of
// a map are visited.
func (c *charger) noteBig(x float64) {
	size := math.Abs(x)
	if size < integersMax || size >= 1e21 {
		return
	}
	if kept := math.Abs(c.big); kept == 0 || size < kept || size == kept && x > c.big {
		c.big = x
	}
}

// EventToLua is [ToLua] for the event of a run. It warns of integers that may have
// been rounded when the event was read.
func EventToLua(run *vm.Run, event any) lua.LValue {
	c := charger{run: run}
	v := c.toLua(event)
	if c.big != 0 {
		WarnOfRounding(run, fmt.Sprintf("the event has an integer that may have been rounded, to %s", strconv.FormatFloat(c.big, 'f', 0, 64)))
	}
	return v
}
