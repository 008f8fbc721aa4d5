package vm

import (
	"fmt"
	"maps"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// gopher-lua has no methods for some of its fields that are needed here. The
// types below begin like its own ones; the process doesn't start if one doesn't.

// tableLayout is a [lua.LTable].
type tableLayout struct {
	Metatable lua.LValue
	array     []lua.LValue
	dict      map[lua.LValue]lua.LValue
	strdict   map[string]lua.LValue
	keys      []lua.LValue       // of both maps, those of removed values too
	k2i       map[lua.LValue]int // index of each key in keys
}

// stateLayout is a [lua.LState].
type stateLayout struct {
	G       *lua.Global
	Parent  *lua.LState
	Env     *lua.LTable
	Panic   func(*lua.LState)
	Dead    bool
	Options lua.Options

	stop         int32
	reg          *registryLayout
	stack        any // an interface with methods, as large as any other
	alloc        unsafe.Pointer
	currentFrame *frameLayout
}

// registryLayout is the stack of values of a thread.
type registryLayout struct {
	array []lua.LValue
	top   int
}

// frameLayout is the call of a function.
type frameLayout struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     unsafe.Pointer
	Pc         int
	Base       int
	LocalBase  int
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

func table(t *lua.LTable) *tableLayout { return (*tableLayout)(unsafe.Pointer(t)) }
func state(L *lua.LState) *stateLayout { return (*stateLayout)(unsafe.Pointer(L)) }

// WithField returns a copy of a table of strings in which a field that it has is
// value. Neither may get other fields afterwards: the copy shares the keys.
func WithField(template *lua.LTable, name string, value lua.LValue) *lua.LTable {
	t := *template
	fields := maps.Clone(table(&t).strdict)
	fields[name] = value
	table(&t).strdict = fields
	return &t
}

// The layouts are compared before anything can use one.
var _ = func() bool {
	thread := reflect.TypeFor[lua.LState]()
	mustBeginLike(reflect.TypeFor[tableLayout](), reflect.TypeFor[lua.LTable]())
	mustBeginLike(reflect.TypeFor[stateLayout](), thread)
	mustBeginLike(reflect.TypeFor[registryLayout](), pointedAt(thread, "reg"))
	mustBeginLike(reflect.TypeFor[frameLayout](), pointedAt(thread, "currentFrame"))
	return true
}()

// pointedAt returns what the field name of t points at.
func pointedAt(t reflect.Type, name string) reflect.Type {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("gopher-lua has changed: no pointer %s in %v", name, t))
	}
	return f.Type.Elem()
}

// mustBeginLike panics if the fields of layout aren't the first ones of real.
func mustBeginLike(layout, real reflect.Type) {
	for i := range layout.NumField() {
		want := layout.Field(i)
		got, ok := real.FieldByName(want.Name)
		same := got.Type == want.Type || want.Type.Kind() == reflect.Interface ||
			want.Type.Kind() == reflect.Pointer || want.Type.Kind() == reflect.UnsafePointer
		if !ok || got.Offset != want.Offset || got.Type.Size() != want.Type.Size() || !same {
			panic(fmt.Sprintf("gopher-lua has changed: field %s of %v", want.Name, real))
		}
	}
}
