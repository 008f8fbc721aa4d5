// Package coremodule is the fields that lie directly in the table native and
// belong to no module of it.
//
//	native.sleep(ms)     waits; 0 is allowed, 24 h at most
//	native.time()        the machine's wall clock, in seconds since 1970 with a fraction
//	native.context       tenant, script, run_id, host of this run
package coremodule

import (
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// New returns the functions that lie directly in native.
func New() native.Module {
	return native.Module{Funcs: []native.Func{
		{Name: "sleep", Do: sleep, Args: 1},
		{Name: "time", Do: now, Args: native.NoArgs},
	}}
}

// sleepMax is the longest that one call may wait.
const sleepMax = 24 * time.Hour

func sleep(c *native.Call) error {
	// Where the context ends, the run or a frame of it does, and that is raised.
	_ = c.Sleep(c.Millis(1, "ms", 0, sleepMax))
	return nil
}

func now(c *native.Call) error {
	return c.Return(lua.LNumber(float64(c.Now().Wall.UnixMicro()) / 1e6))
}

// Context returns the table native.context of a run.
func Context(run *vm.Run) *lua.LTable {
	env := native.EnvOf(run)
	t := run.Thread().CreateTable(0, 4)
	t.RawSetString("tenant", lua.LString(env.Tenant))
	t.RawSetString("script", lua.LString(env.Script))
	t.RawSetString("run_id", lua.LString(env.RunID))
	t.RawSetString("host", lua.LString(env.HostKind))
	return t
}
