package vm

import (
	"fmt"
	"maps"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// gopher-lua has no methods for some of the fields of a table that are needed
// here. The type below begins like its own one; the process doesn't start if it
// doesn't.

// tableLayout is a [lua.LTable].
type tableLayout struct {
	Metatable lua.LValue
	array     []lua.LValue
	dict      map[lua.LValue]lua.LValue
	strdict   map[string]lua.LValue
	keys      []lua.LValue       // of both maps, those of removed values too
	k2i       map[lua.LValue]int // index of each key in keys
}

func table(t *lua.LTable) *tableLayout { return (*tableLayout)(unsafe.Pointer(t)) }

// WithField returns a copy of a table of strings in which a field that it has is
// value. Neither may get other fields afterwards: the copy shares the keys.
func WithField(template *lua.LTable, name string, value lua.LValue) *lua.LTable {
	t := *template
	fields := maps.Clone(table(&t).strdict)
	fields[name] = value
	table(&t).strdict = fields
	return &t
}

// The layouts are compared before anything can use ours.
var _ = func() bool {
	mustBeginLike(reflect.TypeFor[tableLayout](), reflect.TypeFor[lua.LTable]())
	return true
}()

// mustBeginLike panics if the fields of layout aren't the first ones of real. Where
// layout points at a layout of this package, real may point at any type.
func mustBeginLike(layout, real reflect.Type) {
	for i := range layout.NumField() {
		want := layout.Field(i)
		got, ok := real.FieldByName(want.Name)
		if !ok || got.Offset != want.Offset || got.Type != want.Type && !pointsAtLayout(want.Type, got.Type) {
			panic(fmt.Sprintf("gopher-lua has changed: field %s of %v", want.Name, real))
		}
	}
}

// pointsAtLayout reports whether both types are pointers, ours to a type of this
// package.
func pointsAtLayout(ours, real reflect.Type) bool {
	return ours.Kind() == reflect.Pointer && real.Kind() == reflect.Pointer &&
		ours.Elem().PkgPath() == reflect.TypeFor[tableLayout]().PkgPath()
}
