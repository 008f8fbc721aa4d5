package vm

import lua "github.com/yuin/gopher-lua"

// Lazy makes tables that start empty and are filled at the first touch, so that a
// run pays only for the libraries its script uses. One Lazy serves all runs;
// each of its tables is a script's own.
//
// An unfilled table has a hidden metatable that fills it and then removes itself.
// Library functions that bypass metatables or return them (next, pairs, rawget,
// rawset, getmetatable, setmetatable) call [Materialize] first, so that a script
// never sees the difference.
type Lazy struct {
	materialize func(*lua.LTable)
	meta        *lua.LTable // never written after NewLazy: all runs share it
}

// lazyKey is where a hidden metatable keeps its Lazy. A script may use the
// same key in a metatable of its own, but has no value of that type.
const lazyKey = 1

// NewLazy returns a maker of tables whose fields materialize sets.
func NewLazy(materialize func(*lua.LTable)) *Lazy {
	z := &Lazy{materialize: materialize, meta: &lua.LTable{Metatable: lua.LNil}}
	z.meta.RawSetInt(lazyKey, &lua.LUserData{Value: z, Metatable: lua.LNil})
	z.meta.RawSetString("__index", NewFunction(func(L *lua.LState) int {
		t := L.CheckTable(1)
		Materialize(t)
		L.Push(t.RawGet(L.Get(2)))
		return 1
	}))
	z.meta.RawSetString("__newindex", NewFunction(func(L *lua.LState) int {
		t := L.CheckTable(1)
		Materialize(t)
		L.RawSet(t, L.Get(2), L.Get(3)) // refuses nil and nan
		return 0
	}))
	return z
}

// Table returns a new, unfilled table.
func (z *Lazy) Table() *lua.LTable { return &lua.LTable{Metatable: z.meta} }

// Attach makes t an unfilled table. What it has stays, unless materialize replaces it.
func (z *Lazy) Attach(t *lua.LTable) { t.Metatable = z.meta }

// Materialize fills t if it is a lazy table that hasn't been filled yet.
func Materialize(t *lua.LTable) {
	meta, ok := t.Metatable.(*lua.LTable)
	if !ok {
		return
	}
	hidden, ok := meta.RawGetInt(lazyKey).(*lua.LUserData)
	if !ok {
		return
	}
	if z, ok := hidden.Value.(*Lazy); ok {
		t.Metatable = lua.LNil
		z.materialize(t)
	}
}
