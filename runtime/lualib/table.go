package lualib

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

var tableFunctions = []function{
	{"concat", tableConcat},
	{"getn", tableGetN},
	{"insert", tableInsert},
	{"maxn", tableMaxN},
	{"remove", tableRemove},
	{"sort", tableSort},
}

func tableGetN(c call) int { return c.retNumber(float64(vm.Len(c.table(1)))) }

func tableMaxN(c call) int {
	t, run := c.table(1), c.run()
	vm.Len(t) // drops what was removed at the end of the array
	largest := lua.LNumber(len(*vm.Array(t)))
	var key lua.LValue = lua.LNil
	if largest > 0 {
		key = largest
	}
	for key, _, _ = vm.Next(t, key); key != lua.LNil; key, _, _ = vm.Next(t, key) {
		run.Step(1)
		if n, ok := key.(lua.LNumber); ok {
			largest = max(largest, n)
		}
	}
	return c.ret(largest)
}

// tableConcat visits the elements twice, first to learn the size.
func tableConcat(c call) int {
	t, separator := c.table(1), c.textOr(2, "")
	first := c.integerOr(3, 1)
	last := c.integerOr(4, vm.Len(t))
	if first > last {
		return c.retText("")
	}
	run := c.run()
	size := float64(last-first) * float64(len(separator))
	var digits [32]byte
	for i := first; i <= last; i++ {
		run.Step(1)
		switch v := vm.Get(t, i).(type) {
		case lua.LString:
			size += float64(len(v))
		case lua.LNumber:
			size += float64(len(appendNumber(digits[:0], float64(v))))
		default:
			c.raise("invalid value (%s) at index %d in table for 'concat'", v.Type().String(), i)
		}
	}
	charge(run, size)
	b := buffer{run: run}
	b.reserve(int(size))
	for i := first; i <= last; i++ {
		if i > first {
			b.text(separator)
		}
		switch v := vm.Get(t, i).(type) {
		case lua.LString:
			b.text(string(v))
		case lua.LNumber:
			b.Write(appendNumber(digits[:0], float64(v)))
			b.step(1)
		}
	}
	return c.retText(b.String())
}

// elementsPerStep is how many elements that are moved or returned count as one
// step.
const elementsPerStep = 16

func tableInsert(c call) int {
	t := c.table(1)
	n := vm.Len(t)
	switch c.GetTop() {
	case 2:
		if n < vm.ArrayMax {
			t.Append(c.Get(2))
		} else {
			setIndex(t, n+1, c.Get(2))
		}
	case 3:
		c.insertAt(t, n, c.integer(2), c.Get(3))
	default:
		c.raise("wrong number of arguments to 'insert'")
	}
	return 0
}

// insertAt puts v at a position of n elements and moves those from there on up.
func (c call) insertAt(t *lua.LTable, n, position int, v lua.LValue) {
	run := c.run()
	switch {
	case position > n:
		if position <= vm.ArrayMax {
			c.fillArray(t, position)
		}
	case position >= 1 && n < vm.ArrayMax && n-position < elementsPerChunk:
		run.Step(1 + (n-position)/elementsPerStep)
		t.Insert(position, v)
		return
	case position >= 1:
		c.moveUp(t, position, n)
	default:
		for i := n + 1; i > position; i-- {
			run.Step(1)
			setIndex(t, i, vm.Get(t, i-1))
		}
	}
	setIndex(t, position, v)
}

func tableRemove(c call) int {
	t := c.table(1)
	n := vm.Len(t)
	position := c.integerOr(2, n)
	if position < 1 || position > n {
		return 0
	}
	removed := vm.Get(t, position)
	if n <= vm.ArrayMax && n-position < elementsPerChunk {
		c.run().Step(1 + (n-position)/elementsPerStep)
		return c.ret(t.Remove(position))
	}
	c.moveDown(t, position+1, n)
	setIndex(t, n, lua.LNil)
	return c.ret(removed)
}
