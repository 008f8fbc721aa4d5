package runtime

import (
	"context"
	"errors"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/check"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Run runs a script. It always returns a result, soon after the invocation's
// time limit or the end of ctx at the latest. If ctx is cancelled because of
// [Shutdown], the result's error is [HostShutdown].
func (e *Engine) Run(ctx context.Context, inv Invocation) *Result {
	clk := e.config.Clock
	began := clk.Read()
	if inv.ID == "" {
		inv.ID = NewID(began.Wall)
	}
	r := &Result{ID: inv.ID, StartedAt: began.Wall}
	if e.config.Observer.Begin != nil {
		var ended func(*Result)
		observed := inv // a copy, so that runs without an observer need no heap
		ctx, ended = e.config.Observer.Begin(ctx, &observed)
		defer func() { ended(r) }()
	}
	defer func() { r.Duration = clk.ElapsedMax() - began.ElapsedMax }()
	proto, err := e.compiler.Compile(ctx, inv.Script, inv.Source)
	if err != nil {
		r.Error = compileError(err)
		return r
	}
	e.execute(ctx, inv, proto, r)
	return r
}

// execute runs a compiled script in a fresh Lua state and completes its result.
func (e *Engine) execute(ctx context.Context, inv Invocation, proto *lua.FunctionProto, r *Result) {
	limits := inv.Limits.WithDefaults()
	env := e.env(ctx, inv, limits)
	began := e.config.Clock.ElapsedMax()
	run := e.newRun(ctx, env, limits)
	defer run.Close()
	e.sandbox.install(run, inv.Scripts)

	script := &program{chunk: run.NewChunk(proto), event: inv.Event}
	_, failure := run.Call(script.function())

	r.Counters = Counters{Instructions: run.Steps(), DataOps: env.DataOps.Used()}
	r.Incidents = run.Incidents()
	interrupt, observer := run.Interrupt(), e.config.Observer
	if interrupt != nil && interrupt.Cause == vm.Deadline && observer.Interrupted != nil {
		observer.Interrupted(e.config.Clock.ElapsedMax() - began - limits.Timeout)
	}
	switch {
	case interrupt != nil:
		r.Error = interruptError(interrupt, limits)
		r.Error.Stack = stack(run.InterruptStack())
		r.Error.locate()
	case failure != nil:
		r.Error = scriptError(failure)
	case script.err != nil:
		r.Error = Errorf(NotSerializable, "%s", script.err.Error())
	case inv.Encode != nil:
		r.JSON, r.Error = inv.Encode(script.value, limits.ResultBytes)
	default:
		r.encode(script.value, limits.ResultBytes)
	}
	if r.Error != nil && r.Error.File == "" {
		r.Error.File = inv.Script
	}
}

// env returns what native modules see of a run.
func (e *Engine) env(ctx context.Context, inv Invocation, limits tenant.Limits) *native.Env {
	env := &native.Env{
		Tenant: inv.Tenant, Script: inv.Script, RunID: inv.ID,
		HostKind: e.config.HostKind, HostName: e.config.HostName,
		Log: inv.Log, HostEnd: inv.HostEnd,
		DataOps:  &tenant.Budget{Name: "max_data_ops", Limit: limits.DataOps},
		LogBytes: &tenant.Budget{Name: "log_bytes", Limit: limits.LogBytes},
	}
	if call := e.config.Observer.Call; call != nil {
		env.Trace = func(name string) func() { return call(ctx, name) }
	}
	return env
}

// newRun makes the Lua state of a run, with its limits and its slot.
func (e *Engine) newRun(ctx context.Context, env *native.Env, limits tenant.Limits) *vm.Run {
	return vm.NewRun(vm.Config{
		Clock: e.config.Clock, Context: ctx, Host: env, OnInterrupt: e.config.Observer.Interrupted,
		Memory: e.config.Memory, Slot: e.scheduler.newSlot(env.Tenant), Yield: e.config.Yield,
		Instead: check.Instead,
		Limits: vm.Limits{
			Timeout: limits.Timeout, Instructions: limits.Instructions,
			MemoryBytes: limits.MemoryBytes, Coroutines: limits.Coroutines,
		},
	})
}

// program is a script from its chunk to its result.
type program struct {
	chunk *lua.LFunction
	event any

	value any   // what it returned
	err   error // why that can't be turned into data
}

// resultDepth is how deep a result may be nested.
const resultDepth = 200

// function returns the Lua function that calls the chunk and, if the chunk
// returns a function, that function with the event. It also turns the result
// into data, so that this is under the run's limits too.
func (p *program) function() *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
		run := vm.Of(L)
		event := native.ToLua(run, p.event)
		L.Push(p.chunk)
		L.Push(event)
		L.Call(1, 1)
		if L.Get(-1).Type() == lua.LTFunction {
			L.Push(event)
			L.Call(1, 1)
		}
		p.value, p.err = native.FromLua(run, L.Get(-1), "result", resultDepth)
		run.CheckInterrupt()
		return 0
	}}
}

// interruptError returns the error of a run that was interrupted.
func interruptError(in *vm.Interrupt, limits tenant.Limits) *Error {
	var shutdown Shutdown
	switch in.Cause {
	case vm.Deadline:
		return Errorf(Timeout, "the run took longer than its timeout of %v", limits.Timeout)
	case vm.Cancelled:
		if errors.As(in.Reason, &shutdown) {
			return Errorf(HostShutdown, "%s", shutdown.Error())
		}
		if e, ok := errors.AsType[*Error](in.Reason); ok {
			return e
		}
		return Errorf(Cancelled, "cancelled: %v", in.Reason)
	}
	unit := ""
	if in.Cause == vm.Memory || in.Cause == vm.ProcessMemory {
		unit = " bytes"
	}
	return Errorf(LimitExceeded, "the run exceeded its limit %s of %d%s", in.Cause, in.Value, unit)
}
