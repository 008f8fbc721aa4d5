package lualib

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// Compiler turns the source of a chunk into a function prototype. name is
// what error messages call the chunk. An error's text is what load returns.
type Compiler func(ctx context.Context, name, source string) (*lua.FunctionProto, error)

// Library holds the functions of all libraries. They are made once and shared
// by every run of the process; the tables that they lie in are each run's own.
type Library struct {
	compile Compiler
	globals []named
	modules []module
}

// named is a value under its name in a table.
type named struct {
	name  string
	value lua.LValue
}

// module is a library with a table of its own.
type module struct {
	name string
	lazy *vm.Lazy
}

// New makes the library. load and loadstring compile by compile.
func New(compile Compiler) *Library {
	lib := &Library{compile: compile}
	lib.globals = append(share(baseFunctions), share(lib.loadFunctions())...)
	lib.globals = append(lib.globals, share(environmentFunctions)...)
	lib.globals = append(lib.globals, share(protectFunctions)...)
	lib.globals = append(lib.globals, iterators()...)
	lib.globals = append(lib.globals, named{"_VERSION", lua.LString(lua.LuaVersion)})
	for _, m := range []struct {
		name     string
		contents []named
	}{
		{"string", share(stringFunctions)},
		{"table", share(tableFunctions)},
		{"math", append(share(mathFunctions), mathConstants...)},
		{"os", share(osFunctions)},
		{"coroutine", share(coroutineFunctions)},
		{"debug", share(debugFunctions)},
	} {
		lib.modules = append(lib.modules, module{m.name, vm.NewLazy(func(t *lua.LTable) { put(t, m.contents) })})
	}
	return lib
}

// Open gives the run of L the library: its globals, and what strings are
// indexed through. It is called once for each run, before any script.
func (lib *Library) Open(L *lua.LState) {
	run := vm.Of(L)
	run.SetValue(stateKey{}, newState(run))
	globals := run.Globals()
	put(globals, lib.globals)
	globals.RawSetString("_G", globals)
	for _, m := range lib.modules {
		t := m.lazy.Table()
		globals.RawSetString(m.name, t)
		if m.name == "string" {
			setStringMetatable(L, t)
		}
	}
}

// setStringMetatable lets strings be indexed through methods. The metatable is
// the run's own and scripts can't reach it.
func setStringMetatable(L *lua.LState, methods *lua.LTable) {
	mt := L.CreateTable(0, 2)
	mt.RawSetString("__index", methods)
	mt.RawSetString("__metatable", lua.LFalse)
	L.SetMetatable(lua.LString(""), mt)
}

func put(t *lua.LTable, values []named) {
	for _, v := range values {
		t.RawSetString(v.name, v.value)
	}
}

// function is a library function under the name that its errors mention.
type function struct {
	name string
	call func(call) int // as a lua.LGFunction
}

// share makes values of functions that all runs may use.
func share(functions []function) []named {
	values := make([]named, len(functions))
	for i, f := range functions {
		values[i] = named{f.name, vm.NewFunction(func(L *lua.LState) int {
			return f.call(call{L, f.name})
		})}
	}
	return values
}
