package vm

import (
	"math/bits"
	"reflect"
	"runtime"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What values take, in bytes, with the allocator's rounding.
const (
	valueBytes     = 16 // an interface, as in arrays and on stacks
	numberBytes    = 16 // a boxed number; its block may hold others that are gone
	stringBytes    = 16 // a boxed string without its text
	tableBytes     = 96
	functionBytes  = 80
	upvalueBytes   = 48
	userdataBytes  = 64
	threadBytes    = 2 << 10 // with its first frames
	goroutineBytes = 8 << 10
	protoBytes     = 512
	// A number below it is shared by the whole process.
	numbersShared = 128
)

// walker sums up what a run can reach. It visits each object once and calls no
// metamethod.
type walker struct {
	run     *Run
	bytes   int64
	visited int64

	seen    map[uintptr]struct{} // by address; objects don't move
	pending []lua.LValue         // seen, but not visited

	polled      int64 // visited at the last poll
	interrupted bool  // the run was, meanwhile
}

// pollObjects is how many objects are visited between two polls.
const pollObjects = 1000

// walk returns false if the run was interrupted meanwhile. It stops early when the
// run is over its limit anyway.
func (w *walker) walk() (complete bool) {
	r := w.run
	w.seen = make(map[uintptr]struct{}, 1024)
	w.value(r.threads.root.G.Global)
	w.value(r.threads.root.G.Registry)
	w.value(r.threads.root.GetMetatable(lua.LString("")))
	w.thread(r.threads.root)
	for _, t := range r.threads.live() {
		w.thread(t)
	}
	for co := range r.coroutines {
		w.bytes += goroutineBytes
		w.coroutine(co)
	}
	for len(w.pending) > 0 && !w.enough() {
		last := len(w.pending) - 1
		v := w.pending[last]
		w.pending = w.pending[:last]
		if w.into(v); w.poll() {
			return false
		}
	}
	return true
}

func (w *walker) enough() bool {
	limit := w.run.memory.limit
	return limit > 0 && w.bytes > limit
}

// poll checks the limits of the run now and then.
func (w *walker) poll() (interrupted bool) {
	if !w.interrupted && w.visited-w.polled >= pollObjects {
		w.polled = w.visited
		w.interrupted = w.run.checkLimits(w.run.clock.ElapsedMax())
	}
	return w.interrupted
}

// first reports whether the object at an address is met for the first time.
func (w *walker) first(address unsafe.Pointer) bool {
	before := len(w.seen)
	w.seen[uintptr(address)] = struct{}{}
	return len(w.seen) > before
}

// value counts a value by itself and keeps those that hold others for later.
func (w *walker) value(v lua.LValue) {
	w.visited++
	switch v := v.(type) {
	case lua.LNumber:
		if !(v >= 0 && v < numbersShared) || v != lua.LNumber(int(v)) {
			w.bytes += numberBytes
		}
	case lua.LString:
		w.text(string(v))
	case *lua.LTable:
		if w.first(unsafe.Pointer(v)) {
			w.bytes += tableSize(v)
			w.pending = append(w.pending, v)
		}
	case *lua.LFunction:
		if w.first(unsafe.Pointer(v)) {
			w.bytes += functionBytes
			w.pending = append(w.pending, v)
		}
	case *lua.LUserData:
		if w.first(unsafe.Pointer(v)) {
			w.bytes += userdataBytes
			w.pending = append(w.pending, v)
		}
	case *lua.LState:
		if w.first(unsafe.Pointer(v)) {
			w.bytes += userdataBytes
			w.pending = append(w.pending, v)
		}
	}
}

// text counts a string once, however many values share it.
func (w *walker) text(s string) {
	if len(s) > 0 && w.first(unsafe.Pointer(unsafe.StringData(s))) {
		w.bytes += stringBytes + int64(len(s)+7)&^7
	}
}

// into visits what a value holds.
func (w *walker) into(v lua.LValue) {
	switch v := v.(type) {
	case *lua.LTable:
		w.value(v.Metatable)
		w.elements(*Array(v))
		w.fields(v)
	case *lua.LFunction:
		w.function(v)
	case *lua.LUserData:
		w.value(v.Metatable)
		if v.Env != nil {
			w.value(v.Env)
		}
	case *lua.LState:
		if h, ok := v.Context().(handle); ok {
			w.coroutine(h.co)
		}
	}
}

// elements visits an array. gopher-lua's own iteration makes a number of
// each index.
func (w *walker) elements(array []lua.LValue) {
	for _, v := range array {
		if w.enough() || w.poll() {
			return
		}
		if v != lua.LNil {
			w.value(v)
		}
	}
}

// fields visits what lies in a table beside its array.
func (w *walker) fields(t *lua.LTable) {
	without := *t
	*Array(&without) = nil
	visit := func(key, value lua.LValue) {
		if _, number := key.(lua.LNumber); !number {
			w.value(key)
		}
		w.value(value)
	}
	if reflect.ValueOf(t).Elem().FieldByIndex(tableKeys).Len() < pollObjects {
		without.ForEach(visit) // can't be stopped, but takes half of the time
		return
	}
	for key, value := without.Next(lua.LNil); key != lua.LNil && !w.enough() && !w.poll(); key, value = without.Next(key) {
		visit(key, value)
	}
}

func (w *walker) function(f *lua.LFunction) {
	if f.Env != nil {
		w.value(f.Env)
	}
	w.bytes += int64(8 * len(f.Upvalues))
	for _, u := range f.Upvalues {
		if u != nil && w.first(unsafe.Pointer(u)) {
			w.bytes += upvalueBytes
			w.value(u.Value())
		}
	}
	if f.Proto != nil {
		w.proto(f.Proto)
	}
}

// proto counts compiled code, which a script makes by loadstring.
func (w *walker) proto(p *lua.FunctionProto) {
	if !w.first(unsafe.Pointer(p)) {
		return
	}
	w.visited++
	w.bytes += protoBytes + int64(12*len(p.Code)+64*len(p.DbgLocals)+24*len(p.DbgCalls)+2*valueBytes*len(p.Constants))
	for _, c := range p.Constants {
		w.value(c)
	}
	for _, inner := range p.FunctionPrototypes {
		w.proto(inner)
	}
}

func (w *walker) coroutine(co *coroutine) {
	if !w.first(unsafe.Pointer(co)) {
		return
	}
	w.value(co.fn)
	for _, v := range co.transfer {
		w.value(v)
	}
}

// thread visits the stack of a thread, from its top to its bottom.
func (w *walker) thread(t *lua.LState) {
	if !w.first(unsafe.Pointer(t)) {
		return
	}
	w.bytes += threadBytes + stackSize(t)
	frame, ok := t.GetStack(0)
	if !ok {
		return
	}
	// GetLocal counts from the base of a frame, and numbers below 1 lie under
	// it: in the frames of the callers. At the bottom it panics.
	defer func() {
		if _, bottom := recover().(runtime.Error); !bottom {
			panic("the stack of a Lua thread has no bottom")
		}
	}()
	for n := t.GetTop(); ; n-- {
		_, v := t.GetLocal(frame, n)
		if v != nil {
			w.value(v)
		}
	}
}

// gopher-lua has no methods for the lengths of some fields that take memory:
// a table keeps keys that were deleted for ever, and a stack never shrinks.
var (
	tableArray   = fieldOf[lua.LTable]("array")
	tableStrings = fieldOf[lua.LTable]("strdict")
	tableOthers  = fieldOf[lua.LTable]("dict")
	tableKeys    = fieldOf[lua.LTable]("keys")
	threadStack  = fieldOf[lua.LState]("reg")
)

func fieldOf[T any](name string) []int {
	f, ok := reflect.TypeFor[T]().FieldByName(name)
	if !ok {
		panic("gopher-lua has no field " + name)
	}
	return f.Index
}

// stackSize is what the registers of a thread take.
func stackSize(t *lua.LState) int64 {
	registry := reflect.ValueOf(t).Elem().FieldByIndex(threadStack).Elem()
	return int64(registry.FieldByName("array").Cap()) * valueBytes
}

// tableSize is what a table takes without what it holds.
func tableSize(t *lua.LTable) int64 {
	v := reflect.ValueOf(t).Elem()
	keys, others := v.FieldByIndex(tableKeys), v.FieldByIndex(tableOthers).Len()
	strings := max(v.FieldByIndex(tableStrings).Len(), keys.Len()-others)
	slots := v.FieldByIndex(tableArray).Cap() + keys.Cap()
	return tableBytes + int64(slots)*valueBytes + int64(keys.Len())*stringBytes +
		mapBytes(keys.Len(), 24) + mapBytes(strings, 32) + mapBytes(others, 32)
}

// mapBytes is what a Go map of n entries takes: groups of 8 slots, at most 7/8
// of them used, doubled when they are full.
func mapBytes(n int, entry int64) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	if n > 8 {
		slots = 1 << bits.Len(uint(n*8/7-1))
	}
	return 48 + slots*(entry+1)
}
