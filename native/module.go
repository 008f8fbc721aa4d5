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
	// Values are fields that are not functions. All runs share them, so they must
	// be values that no script can change.
	Values map[string]lua.LValue
}

// Func is one function of a module.
type Func struct {
	Name string
	// Do carries out one call. It passes its results to [Call.Return]; an error
	// that it returns is raised.
	Do func(*Call) error
	// Args is how many arguments the function takes at most, without the handle of
	// a method: a number, [NoArgs] or [AnyArgs]. A surplus argument that isn't nil
	// is an argument error. The default 0 is not checked; functions that scripts
	// see set Args.
	Args int
}

// Values of [Func.Args].
const (
	NoArgs  = -1 // the function takes none
	AnyArgs = -2 // there is no bound
)

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
func (s *Set) Open(t *lua.LTable) { s.native.Attach(t) }

// fields makes the module's functions, once for all runs.
func (m Module) fields() map[string]lua.LValue {
	fields := make(map[string]lua.LValue, len(m.Funcs)+len(m.Values))
	prefix := "native."
	if m.Name != "" {
		prefix += m.Name + "."
	}
	for _, f := range m.Funcs {
		fields[f.Name] = f.function(prefix+f.Name, false)
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

// Function makes the Lua function of a Func that lies in no module. Make it once
// and share it between all runs.
func (f Func) Function() *lua.LFunction { return f.function(f.Name, false) }

// function makes the Lua function: interrupt check, call, and what follows from
// how that ended. name is the full one, for traces. A method has its handle as
// the first argument.
func (f Func) function(name string, method bool) *lua.LFunction {
	return vm.NewFunction(func(L *lua.LState) int {
		run := vm.Of(L)
		c := &Call{L: L, Run: run, Env: EnvOf(run), name: f.Name, entered: run.CheckInterrupt()}
		if c.Env.Trace != nil {
			c.endTrace = c.Env.Trace(name)
		}
		defer c.end()
		c.checkArgs(f, name, method)
		err := f.Do(c)
		if c.ctx != nil && c.ctx.Waited() {
			// The call has waited: a deadline that has passed
			// meanwhile counts for more than its result.
			run.CheckInterrupt()
		}
		if err != nil {
			c.raise(err)
		}
		return c.results
	})
}
