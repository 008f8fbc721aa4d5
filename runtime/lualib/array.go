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

// getIndex returns t[i] without metamethods.
func getIndex(t *lua.LTable, i int) lua.LValue {
	if 1 <= i && i < lua.MaxArrayIndex {
		return t.RawGetInt(i)
	}
	return t.RawGet(lua.LNumber(i))
}

// setIndex is t[i] = v without metamethods.
func setIndex(t *lua.LTable, i int, v lua.LValue) {
	if 1 <= i && i < lua.MaxArrayIndex {
		t.RawSetInt(i, v)
		return
	}
	t.RawSet(lua.LNumber(i), v)
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

// moveUp moves each element of an array to the next, and drops the last. When
// the run ends meanwhile, one element is there twice.
func (c call) moveUp(array []lua.LValue) {
	for end := len(array); end > 1; end -= elementsPerChunk {
		first := max(end-elementsPerChunk, 1)
		copy(array[first:end], array[first-1:end-1])
		c.run().Step((end - first) / elementsPerStep)
	}
}

// moveDown moves each element of an array to the one before, and drops the
// first. When the run ends meanwhile, one element is there twice.
func (c call) moveDown(array []lua.LValue) {
	for first := 1; first < len(array); first += elementsPerChunk {
		end := min(first+elementsPerChunk, len(array))
		copy(array[first-1:end-1], array[first:end])
		c.run().Step((end - first) / elementsPerStep)
	}
}
