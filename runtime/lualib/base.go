package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/numeral"
	"github.com/tidelock-lua/tidelock/native/vm"
)

var baseFunctions = []function{
	{"assert", baseAssert},
	{"collectgarbage", baseCollectGarbage},
	{"error", baseError},
	{"getmetatable", baseGetMetatable},
	{"rawequal", baseRawEqual},
	{"rawget", baseRawGet},
	{"rawset", baseRawSet},
	{"select", baseSelect},
	{"setmetatable", baseSetMetatable},
	{"tonumber", baseToNumber},
	{"tostring", baseToString},
	{"type", baseType},
	{"unpack", baseUnpack},
}

// iterators returns next, pairs and ipairs together, because pairs returns the
// very function that next is.
func iterators() []named {
	shared := share([]function{
		{"next", baseNext},
		{"ipairs iterator", baseIpairsNext},
	})
	next, ipairsNext := shared[0], shared[1].value
	return append(share([]function{
		{"pairs", func(c call) int {
			if method := c.GetMetaField(c.any(1), "__pairs"); method != lua.LNil {
				return c.pairsBy(method)
			}
			return c.retIterator(next.value, lua.LNil)
		}},
		{"ipairs", func(c call) int { return c.retIterator(ipairsNext, lua.LNumber(0)) }},
	}), next)
}

// retIterator returns what a generic for needs to visit the table in argument 1.
func (c call) retIterator(iterator, first lua.LValue) int {
	t := c.table(1)
	c.Push(iterator)
	c.Push(t)
	c.Push(first)
	return 3
}

// pairsBy returns what the metamethod __pairs gives for argument 1.
func (c call) pairsBy(method lua.LValue) int {
	c.Push(method)
	c.Push(c.Get(1))
	c.Call(1, 3)
	return 3
}

func baseNext(c call) int {
	key, value, ok := vm.Next(c.table(1), c.Get(2))
	if !ok {
		c.raise("invalid key to 'next'")
	}
	c.Push(key)
	if key == lua.LNil {
		return 1
	}
	c.Push(value)
	return 2
}

func baseIpairsNext(c call) int {
	t := c.table(1)
	i := c.integer(2) + 1
	value := vm.Get(t, i)
	if value == lua.LNil {
		return 0
	}
	c.Push(lua.LNumber(i))
	c.Push(value)
	return 2
}

func baseAssert(c call) int {
	if lua.LVAsBool(c.any(1)) {
		return c.GetTop()
	}
	switch message := c.Get(2).(type) {
	case *lua.LNilType:
		c.raise("assertion failed!")
	case lua.LString, lua.LNumber:
		c.raise("%s", c.text(2))
	default:
		c.Error(message, 0)
	}
	return 0
}

func baseError(c call) int {
	value, level := c.Get(1), c.integerOr(2, 1)
	switch value.(type) {
	case lua.LString, lua.LNumber:
		value = lua.LString(vm.Position(c.LState, level) + c.text(1))
	}
	c.Error(value, 0)
	return 0
}

func baseGetMetatable(c call) int {
	value := c.any(1)
	if t, ok := value.(*lua.LTable); ok {
		vm.Materialize(t)
	}
	return c.ret(c.GetMetatable(value))
}

func baseSetMetatable(c call) int {
	t := c.table(1)
	meta, ok := c.Get(2).(*lua.LTable)
	if !ok && (c.Get(2) != lua.LNil || c.GetTop() < 2) {
		c.argumentError(2, "nil or table expected")
	}
	if c.GetMetaField(t, "__metatable") != lua.LNil {
		c.raise("cannot change a protected metatable")
	}
	if t.Metatable = lua.LNil; ok {
		vm.Materialize(meta) // its fields are looked up without a metatable
		t.Metatable = meta
	}
	return c.ret(t)
}

func baseRawEqual(c call) int {
	if s, ok := c.any(1).(lua.LString); ok {
		c.run().Step(len(s) / bytesPerStep)
	}
	return c.ret(lua.LBool(c.RawEqual(c.any(1), c.any(2))))
}

func baseRawGet(c call) int {
	return c.ret(c.table(1).RawGet(c.any(2)))
}

func baseRawSet(c call) int {
	t, key, value := c.table(1), c.any(2), c.any(3)
	if n, ok := key.(lua.LNumber); ok && n < lua.LNumber(lua.MaxArrayIndex) {
		c.fillArray(t, int(n))
	}
	c.RawSet(t, key, value)
	return c.ret(t)
}

func baseSelect(c call) int {
	count := c.GetTop() - 1
	c.run().Step(count / elementsPerStep)
	if c.Get(1) == lua.LString("#") {
		return c.retNumber(float64(count))
	}
	n := c.integer(1)
	if n < 0 {
		n += count + 1
	}
	if n < 1 {
		c.argumentError(1, "index out of range")
	}
	return max(0, count-n+1)
}

func baseType(c call) int { return c.retText(c.any(1).Type().String()) }

func baseToString(c call) int { return c.ret(toString(c.LState, c.any(1))) }

func baseToNumber(c call) int {
	base := c.integerOr(2, 10)
	if base == 10 {
		if x, ok := toNumber(c.any(1)); ok {
			return c.retNumber(x)
		}
		return c.ret(lua.LNil)
	}
	s := c.text(1)
	if base < 2 || base > 36 {
		c.argumentError(2, "base out of range")
	}
	if x, ok := parseWithBase(s, base); ok {
		return c.retNumber(x)
	}
	return c.ret(lua.LNil)
}

// parseWithBase reads a whole number with the given base.
func parseWithBase(s string, base int) (x float64, ok bool) {
	if s, ok = numeral.Trim(s); !ok {
		return 0, false
	}
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	for i := range len(s) {
		digit := digitValue(s[i])
		if digit >= base {
			return 0, false
		}
		// The conversion keeps processors from fusing the two operations.
		x = float64(x*float64(base)) + float64(digit)
	}
	if negative {
		x = -x
	}
	return x, s != ""
}

func baseUnpack(c call) int {
	t := c.table(1)
	first := c.integerOr(2, 1)
	last := c.integerOr(3, vm.Len(t))
	n := last - first + 1
	if n > resultsMax {
		c.raise("too many results to unpack")
	}
	c.run().Step(max(0, n) / elementsPerStep)
	for i := first; i <= last; i++ {
		c.Push(vm.Get(t, i))
	}
	return max(0, n)
}

// collectGarbageOptions maps each option to what it returns.
var collectGarbageOptions = map[string]lua.LValue{
	"collect":    lua.LNumber(0),
	"count":      nil, // from the run
	"restart":    lua.LNumber(0),
	"setpause":   lua.LNumber(200),
	"setstepmul": lua.LNumber(200),
	"step":       lua.LTrue,
	"stop":       lua.LNumber(0),
}

// baseCollectGarbage collects nothing: the host's collector works for all runs
// of the process, and no run may hold it up. The count is an estimate of what
// the run holds, which lags behind.
func baseCollectGarbage(c call) int {
	option := c.textOr(1, "collect")
	result, ok := collectGarbageOptions[option]
	if !ok {
		c.argumentError(1, "invalid option '%.20s'", option)
	}
	if result == nil {
		return c.retNumber(float64(c.run().Memory()) / 1024)
	}
	return c.ret(result)
}
