package native

import (
	"maps"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// Module is one table under the global native. State that the module keeps
// for the whole process lives in what its functions are methods of.
type Module struct {
	// Name is the field of native under which the module is found. The fields
	// of a module without a name lie in native itself.
	Name string
	// Funcs is the module's table of contents.
	Funcs []Func
	// Values are fields that are no functions. They are shared by all runs, so
	// nothing in them can be changed by a script.
	Values map[string]lua.LValue
}

// Func is one function of a module.
type Func struct {
	Name string
	// Do acts on one call. It pushes its results by [Call.Return]; the error
	// that it returns is raised.
	Do func(*Call) error
}

// Set is the native modules of a process, ready to be opened by any number of
// runs.
type Set struct{ native *vm.Lazy }

// NewSet prepares modules. Their names must differ.
func NewSet(modules ...Module) *Set {
	tables := make(map[string]*vm.Lazy, len(modules))
	fields := map[string]lua.LValue{}
	for _, m := range modules {
		if m.Name == "" {
			maps.Copy(fields, m.fields())
		} else {
			tables[m.Name] = lazy(m.fields())
		}
	}
	return &Set{vm.NewLazy(func(t *lua.LTable) {
		for name, z := range tables {
			t.RawSetString(name, z.Table())
		}
		for name, v := range fields {
			t.RawSetString(name, v)
		}
	})}
}

// Open makes t a run's table native. Modules open when a script first touches
// them.
func (s *Set) Open(t *lua.LTable) { s.native.Hide(t) }

// fields makes the module's functions, once for all runs.
func (m Module) fields() map[string]lua.LValue {
	fields := make(map[string]lua.LValue, len(m.Funcs)+len(m.Values))
	prefix := "native."
	if m.Name != "" {
		prefix += m.Name + "."
	}
	for _, f := range m.Funcs {
		fields[f.Name] = f.function(prefix + f.Name)
	}
	maps.Copy(fields, m.Values)
	return fields
}

func lazy(fields map[string]lua.LValue) *vm.Lazy {
	return vm.NewLazy(func(t *lua.LTable) {
		for name, v := range fields {
			t.RawSetString(name, v)
		}
	})
}

// Function makes the Lua function of what no module's table holds. Make it
// once and share it.
func (f Func) Function() *lua.LFunction { return f.function(f.Name) }

// function makes the Lua function: gate, call, and what follows from how it
// ended. name is its full one, for traces.
func (f Func) function(name string) *lua.LFunction {
	return vm.NewFunction(func(L *lua.LState) int {
		run := vm.Of(L)
		c := &Call{L: L, Run: run, Env: EnvOf(run), name: f.Name, entered: run.CheckInterrupt()}
		if c.Env.Trace != nil {
			c.traced = c.Env.Trace(name)
		}
		defer c.end()
		err := f.Do(c)
		if c.ctx != nil && c.ctx.Waited() {
			// The call has waited: an end that has passed meanwhile
			// counts for more than its result.
			run.CheckInterrupt()
		}
		if err != nil {
			c.raise(err)
		}
		return c.results
	})
}
