package lualib

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// Compiler turns the source of a chunk into a function prototype. name is the
// chunk's name in error messages. load returns the text of an error.
type Compiler func(ctx context.Context, name, source string) (*lua.FunctionProto, error)

// Library holds the functions of all libraries. They are made once and shared
// by every run of the process; the tables that hold them are each run's own.
type Library struct {
	compile Compiler
	globals *vm.Lazy
	strings *vm.Lazy // the library string, through which strings are indexed too
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

// New makes the library, whose load and loadstring use compile.
func New(compile Compiler) *Library {
	lib := &Library{compile: compile}
	functions := append(share(baseFunctions), share(lib.loadFunctions())...)
	functions = append(functions, share(environmentFunctions)...)
	functions = append(functions, share(protectFunctions)...)
	functions = append(functions, iterators()...)
	functions = append(functions, named{"_VERSION", lua.LString(lua.LuaVersion)})
	var modules []module
	for _, m := range []struct {
		name     string
		contents []named
	}{
		{"table", share(tableFunctions)},
		{"math", append(share(mathFunctions), mathConstants...)},
		{"os", share(osFunctions)},
		{"coroutine", share(coroutineFunctions)},
		{"debug", share(debugFunctions)},
	} {
		modules = append(modules, module{m.name, lazy(m.contents)})
	}
	lib.strings = lazy(share(stringFunctions))
	lib.globals = vm.NewLazy(func(globals *lua.LTable) {
		setAll(globals, functions)
		globals.RawSetString("_G", globals)
		for _, m := range modules {
			globals.RawSetString(m.name, m.lazy.Table())
		}
	})
	return lib
}

func lazy(contents []named) *vm.Lazy {
	return vm.NewLazy(func(t *lua.LTable) { setAll(t, contents) })
}

// Open installs the library in the run of L. The globals are filled when a script
// first touches one. Open is called once for each run, before any script.
func (lib *Library) Open(L *lua.LState) {
	run := vm.Of(L)
	run.SetValue(stateKey{}, newState(run))
	globals, methods := run.Globals(), lib.strings.Table()
	globals.RawSetString("string", methods)
	setStringMetatable(L, methods)
	lib.globals.Attach(globals)
}

// setStringMetatable makes methods the fields of strings, and lets them take part
// in arithmetic. The metatable is the run's own, and scripts can't reach it.
func setStringMetatable(L *lua.LState, methods *lua.LTable) {
	L.SetMetatable(lua.LString(""), vm.WithField(stringMetatable, "__index", methods))
}

// stringMetatable is the metatable of strings, with no fields in __index yet.
var stringMetatable = func() *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	mt.RawSetString("__index", lua.LFalse)
	mt.RawSetString("__metatable", lua.LFalse)
	setAll(mt, arithmetic)
	return mt
}()

func setAll(t *lua.LTable, values []named) {
	for _, v := range values {
		t.RawSetString(v.name, v.value)
	}
}

// function is a library function under the name that its errors mention.
type function struct {
	name string
	call func(call) int // as a lua.LGFunction
}

// share returns functions as values that all runs may use.
func share(functions []function) []named {
	values := make([]named, len(functions))
	for i, f := range functions {
		values[i] = named{f.name, vm.NewFunction(func(L *lua.LState) int {
			return f.call(call{L, f.name})
		})}
	}
	return values
}
