package lualib

import (
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// elementsPerChunk is how many elements of an array may be moved or filled
// between two interrupt checks. Each takes about 10 ns while the garbage
// collector is at work.
const elementsPerChunk = 1 << 14

// setIndex is t[i] = v without metamethods.
func setIndex(t *lua.LTable, i int, v lua.LValue) {
	if 1 <= i && i <= vm.ArrayMax {
		t.RawSetInt(i, v)
		return
	}
	t.RawSetH(lua.LNumber(i), v)
}

// growArray makes room for n elements in t's array. gopher-lua itself would copy
// the array in one step, each time that it has grown by a quarter.
func (c call) growArray(t *lua.LTable, n int) {
	array := vm.Array(t)
	if n <= cap(*array) {
		return
	}
	room := max(n, len(*array)+len(*array)/4)
	c.run().Charge(int64(room) * valueBytes)
	longer := make([]lua.LValue, 0, room)
	for part := range slices.Chunk(*array, elementsPerChunk) {
		longer = append(longer, part...)
		c.run().Step(len(part) / elementsPerStep)
	}
	*array = longer
}

// fillArray prepares t for a value at index i: gopher-lua fills an array with nil
// up to the index that is written. Where that is much, it is done here in chunks,
// and the array doubles where gopher-lua's would grow by a quarter.
func (c call) fillArray(t *lua.LTable, i int) {
	array := vm.Array(t)
	if i-len(*array) <= elementsPerChunk {
		return
	}
	for len(*array) < i {
		from := len(*array)
		if from == cap(*array) { // clearing all the room at once may take long
			c.growArray(t, min(i, max(2*from, elementsPerChunk)))
		}
		*array = (*array)[:min(from+elementsPerChunk, i, cap(*array))]
		filled := (*array)[from:]
		for n := range filled {
			filled[n] = lua.LNil
		}
		c.run().Step(len(filled) / elementsPerStep)
	}
}

// moveUp moves the elements first to last of a list to the index after theirs.
// When the run ends meanwhile, one element is there twice.
func (c call) moveUp(t *lua.LTable, first, last int) {
	for ; last >= first && last >= vm.ArrayMax; last-- {
		c.run().Step(1)
		setIndex(t, last+1, vm.Get(t, last))
	}
	if first > last {
		return
	}
	c.growArray(t, last+1)
	setIndex(t, last+1, vm.Get(t, last))
	array := (*vm.Array(t))[first-1 : last]
	for end := len(array); end > 1; end -= elementsPerChunk {
		first := max(end-elementsPerChunk, 1)
		copy(array[first:end], array[first-1:end-1])
		c.run().Step((end - first) / elementsPerStep)
	}
}

// moveDown moves the elements first to last of a list to the index before theirs.
// When the run ends meanwhile, one element is there twice.
func (c call) moveDown(t *lua.LTable, first, last int) {
	array := *vm.Array(t)
	array = array[:min(last, len(array))]
	for i := first; i <= len(array); i += elementsPerChunk {
		end := min(i-1+elementsPerChunk, len(array))
		copy(array[i-2:end-1], array[i-1:end])
		c.run().Step((end - i) / elementsPerStep)
	}
	for i := max(first, len(array)+1); i <= last; i++ {
		c.run().Step(1)
		setIndex(t, i-1, vm.Get(t, i))
	}
}
