package runtime

import (
	"io/fs"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/logmodule"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/compile"
	"github.com/tidelock-lua/tidelock/runtime/lualib"
)

// sandbox holds all that a script can reach: the library, the native modules,
// print and require. The functions are made once and shared by all runs.
type sandbox struct {
	library *lualib.Library
	native  *native.Set
	print   *lua.LFunction
	require *lua.LFunction
}

// loadLimits bound what scripts compile by load and loadstring. Sources are
// smaller than the host's scripts, and the cache and the compilations at once
// are separate, so that no script flushes the one or blocks the other.
var loadLimits = compile.Limits{SourceBytes: 128 << 10, CacheBytes: 16 << 20}

func newSandbox(compiler *compile.Compiler, modules []native.Module) *sandbox {
	limits := withCharges(loadLimits)
	return &sandbox{
		library: lualib.New(compile.New(limits).Compile),
		native:  native.NewSet(modules...),
		print:   logmodule.Print(),
		require: newRequire(compiler),
	}
}

// withCharges makes the concatenations of what is compiled within limits charge
// their run, and # count all of a list.
func withCharges(limits compile.Limits) compile.Limits {
	limits.Charge, limits.Number, limits.Join = charge, lualib.NumberText, lualib.Join
	limits.Length = vm.Len
	return limits
}

// charge is called before a concatenation makes its result.
func charge(L *lua.LState, bytes int64) {
	run := vm.Of(L)
	run.Charge(bytes)
	run.Step(int(min(bytes/1000, 1<<30)))
}

// install fills the globals of a run that hasn't begun.
func (s *sandbox) install(run *vm.Run, scripts []fs.FS) {
	s.library.Open(run.Thread())
	globals := run.Globals()
	globals.RawSetString("print", s.print)
	globals.RawSetString("require", s.require)
	run.SetValue(requireStateKey{}, &requireState{roots: scripts})
	table := run.Thread().CreateTable(0, 8)
	table.RawSetString("context", coremodule.Context(run))
	s.native.Open(table)
	globals.RawSetString("native", table)
}
