package vm

import lua "github.com/yuin/gopher-lua"

// gopher-lua keeps the elements of a list below [lua.MaxArrayIndex] in a slice,
// its array, and those from there on in a map. Its own methods for lists know
// only the array, so they lose the others. The functions below know both.

// ArrayMax is how many elements the array of a table can hold.
const ArrayMax = maxArrayIndex - 1

// isNil is faster than a comparison with lua.LNil.
func isNil(v lua.LValue) bool {
	_, ok := v.(*lua.LNilType)
	return ok
}

// Len returns the length of a list without its metamethod: the last index of the
// array whose value isn't nil or, where the array is full, an index in the map
// whose value isn't nil and that is followed by nil.
func Len(t *lua.LTable) int {
	array := Array(t)
	n := len(*array)
	if n > 0 && isNil((*array)[n-1]) {
		for n > 0 && isNil((*array)[n-1]) {
			n--
		}
		*array = (*array)[:n] // so that none of the removed ones is visited twice
	}
	if n == ArrayMax {
		return border(t)
	}
	return n
}

// border returns the length of a list whose array is full.
func border(t *lua.LTable) int {
	in := ArrayMax // a value is there
	// A list without holes has as many elements in the map.
	out := in + len(table(t).dict)
	for !isNil(Get(t, out)) {
		if in = out; isNil(Get(t, in+1)) || in > integerMax/2 {
			return in
		}
		out *= 2
	}
	for out-in > 1 {
		if middle := in + (out-in)/2; isNil(Get(t, middle)) {
			out = middle
		} else {
			in = middle
		}
	}
	return in
}

// integerMax is the largest number up to which all integers are floats.
const integerMax = 1 << 53

// Get returns t[i] without metamethods.
func Get(t *lua.LTable, i int) lua.LValue {
	if 1 <= i && i <= ArrayMax {
		return t.RawGetInt(i)
	}
	return t.RawGetH(lua.LNumber(i))
}

// Next returns the key after key and its value, nil after the last one; the first
// key follows nil. It reports false for a key that t never had.
func Next(t *lua.LTable, key lua.LValue) (next, value lua.LValue, ok bool) {
	index := 0 // of the array, from which to go on
	if n, ok := key.(lua.LNumber); ok && 1 <= n && n <= ArrayMax && n == lua.LNumber(int(n)) {
		index = int(n)
	} else if key != lua.LNil {
		at, ok := table(t).k2i[key]
		if !ok {
			return lua.LNil, lua.LNil, false
		}
		next, value = nextField(t, at+1)
		return next, value, true
	}
	array := Array(t)
	for i := index; i < len(*array); i++ {
		if v := (*array)[i]; !isNil(v) {
			return lua.LNumber(i + 1), v, true
		}
	}
	if index < len(*array) {
		*array = (*array)[:index] // so that none of the removed ones is visited twice
	}
	next, value = nextField(t, 0)
	return next, value, true
}

// nextField returns the first of the keys in the maps from an index on that has
// a value.
func nextField(t *lua.LTable, from int) (key, value lua.LValue) {
	fields := table(t)
	if len(fields.dict) == 0 && len(fields.strdict) == 0 {
		return lua.LNil, lua.LNil // the keys of removed values remain
	}
	for _, key := range fields.keys[from:] {
		if v := t.RawGetH(key); !isNil(v) {
			return key, v
		}
	}
	return lua.LNil, lua.LNil
}
