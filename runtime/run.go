package runtime

import (
	"context"
	"errors"
	"io/fs"
	goruntime "runtime"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/compile"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Invocation is one request to run a script.
type Invocation struct {
	// ID is unique; by default a new, time-ordered one.
	ID     string
	Tenant tenant.ID
	// Script is the script's name, as it appears in errors and logs.
	Script string
	// Source is the script itself.
	Source string
	// Event is what the script is called with: a tree of native's value types,
	// nil for none.
	Event any
	// Limits bound the run; zero fields stand for their defaults.
	Limits tenant.Limits
	// Scripts are the roots that require searches, the tenant's own first.
	Scripts []fs.FS
	// Log takes what the run logs. Required.
	Log native.Logger
	// HostEnd is the reading of the engine's fast hand at which the host itself
	// ends, so that locks are released before; 0 is never. It doesn't end the
	// run: see Limits.Timeout.
	HostEnd time.Duration
	// Encode makes of what the script returned, nil for nothing, what leaves
	// the host: at most max bytes. Default: one line of JSON.
	Encode func(value any, max int64) ([]byte, *Error)
}

// Engine runs scripts. It holds what all runs of a process share, and any
// number of them may run at once.
type Engine struct {
	config    Config
	compiler  *compile.Compiler
	sandbox   *sandbox
	scheduler *scheduler
}

// Config is what an engine is made from.
type Config struct {
	// Clock tell the time of all runs. Default: this machine's.
	Clock *clock.Dual
	// Modules are the native modules that scripts may use.
	Modules []native.Module
	// HostKind and HostName say where scripts run: "cli", "lambda" or "task",
	// and the name of the machine.
	HostKind, HostName string
	// Compile bounds sources; zero fields stand for their defaults.
	Compile compile.Limits
	// Memory watches the memory of the process. Default: no limit of what all
	// runs hold together, and a run's own limit counts what its library
	// functions make.
	Memory *vm.MemoryWatcher
	// Observer is told what happens. Default: nobody is.
	Observer Observer
	// Yield is vm.Config.Yield, for tests in fake time.
	Yield func()
}

// Observer is told what happens to runs, for metrics and traces. Its functions
// are called by the goroutines of runs, many at once, and have to return soon.
// Nil ones aren't called.
type Observer struct {
	// Begin is told of each run before it begins. It returns the context of the
	// run, made from ctx, and what is called with its result.
	Begin func(ctx context.Context, inv *Invocation) (context.Context, func(*Result))
	// Call is told of each native call of a run by its full name, with the
	// context that Begin made, and returns what is called when the call is over.
	Call func(ctx context.Context, name string) (done func())
	// Interrupted is told how long after its end a run, or a function under a
	// deadline or a lease, had stopped.
	Interrupted func(lag time.Duration)
}

// New makes an engine.
func New(config Config) *Engine {
	if config.Clock == nil {
		config.Clock = clock.NewDual(clock.System())
	}
	e := &Engine{config: config, compiler: compile.New(accounted(config.Compile)), scheduler: newScheduler(goruntime.GOMAXPROCS(0))}
	e.sandbox = newSandbox(e.compiler, config.Modules)
	return e
}

// Compile compiles a script ahead of its first run. The error is one of
// [SyntaxError] and [Cancelled].
func (e *Engine) Compile(ctx context.Context, script, source string) *Error {
	if _, err := e.compiler.Compile(ctx, script, source); err != nil {
		return notCompiled(err)
	}
	return nil
}

// Run runs a script. It always returns a result, soon after the end of the
// invocation's time limit or of ctx at the latest; a ctx that is cancelled
// because of [Shutdown] says so in the result.
func (e *Engine) Run(ctx context.Context, inv Invocation) *Result {
	clk := e.config.Clock
	began := clk.Read()
	if inv.ID == "" {
		inv.ID = NewID(began.Wall)
	}
	r := &Result{ID: inv.ID, StartedAt: began.Wall}
	if e.config.Observer.Begin != nil {
		var ended func(*Result)
		observed := inv // a copy, so that those of runs that nobody observes need no heap
		ctx, ended = e.config.Observer.Begin(ctx, &observed)
		defer func() { ended(r) }()
	}
	defer func() { r.Duration = clk.ElapsedMax() - began.ElapsedMax }()
	proto, err := e.compiler.Compile(ctx, inv.Script, inv.Source)
	if err != nil {
		r.Error = notCompiled(err)
		return r
	}
	e.run(ctx, inv, proto, r)
	return r
}

// run is the life of one run: fresh state, call, verdict.
func (e *Engine) run(ctx context.Context, inv Invocation, proto *lua.FunctionProto, r *Result) {
	limits := inv.Limits.WithDefaults()
	env := &native.Env{
		Tenant: inv.Tenant, Script: inv.Script, RunID: inv.ID,
		HostKind: e.config.HostKind, HostName: e.config.HostName,
		Log: inv.Log, HostEnd: inv.HostEnd,
		DataOps:  &tenant.Budget{Name: "max_data_ops", Limit: limits.DataOps},
		LogBytes: &tenant.Budget{Name: "log_bytes", Limit: limits.LogBytes},
	}
	observer := e.config.Observer
	if observer.Call != nil {
		env.Trace = func(name string) func() { return observer.Call(ctx, name) }
	}
	clk := e.config.Clock
	began := clk.ElapsedMax()
	run := vm.NewRun(vm.Config{
		Clock: clk, Context: ctx, Host: env, Interrupted: observer.Interrupted,
		Memory: e.config.Memory, Slot: e.scheduler.newSlot(inv.Tenant), Yield: e.config.Yield,
		Limits: vm.Limits{
			Timeout: limits.Timeout, Instructions: limits.Instructions,
			MemoryBytes: limits.MemoryBytes, Coroutines: limits.Coroutines,
		},
	})
	defer run.Close()
	e.sandbox.open(run, inv.Scripts)

	main := &program{chunk: run.Thread().NewFunctionFromProto(proto), event: inv.Event}
	_, failure := run.Call(main.function())
	r.Counters = Counters{Instructions: run.Steps(), DataOps: env.DataOps.Used()}
	r.Incidents = run.Incidents()
	killed := run.Interrupt()
	if killed != nil && killed.Cause == vm.Deadline && observer.Interrupted != nil {
		observer.Interrupted(clk.ElapsedMax() - began - limits.Timeout)
	}
	switch {
	case killed != nil:
		r.Error = interrupted(killed, limits)
	case failure != nil:
		r.Error = raised(failure)
	case main.err != nil:
		r.Error = Errorf(NotSerializable, "%s", main.err.Error())
	case inv.Encode != nil:
		r.JSON, r.Error = inv.Encode(main.value, limits.ResultBytes)
	default:
		r.encode(main.value, limits.ResultBytes)
	}
}

// program is a script on its way from its chunk to its result.
type program struct {
	chunk *lua.LFunction
	event any

	value any   // what it returned
	err   error // why that is no data
}

// resultDepth is how deep a result may be nested.
const resultDepth = 200

// function makes the Lua function that calls the chunk and, if the chunk
// returns a function, that with the event. The result is turned into data
// under the run's limits too.
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

// notCompiled is the error of a script that is no Lua.
func notCompiled(err error) *Error {
	var syntax *compile.SyntaxError
	if !errors.As(err, &syntax) {
		return Errorf(Cancelled, "cancelled before it was compiled")
	}
	e := Errorf(SyntaxError, "%s", syntax.Message)
	e.File, e.Line, e.Column = syntax.File, syntax.Line, syntax.Column
	return e
}

// interrupted is the error of a run that was stopped.
func interrupted(k *vm.Interrupt, limits tenant.Limits) *Error {
	var shutdown Shutdown
	switch k.Cause {
	case vm.Deadline:
		return Errorf(Timeout, "the run took longer than its timeout of %v", limits.Timeout)
	case vm.Cancelled:
		if errors.As(k.Reason, &shutdown) {
			return Errorf(HostShutdown, "%s", shutdown.Error())
		}
		return Errorf(Cancelled, "cancelled: %v", k.Reason)
	}
	return Errorf(LimitExceeded, "the run exceeded its limit %s of %d", k.Cause, k.Value)
}

// Counters is what a run used up.
type Counters struct {
	Instructions int64 `json:"instructions"`
	DataOps      int64 `json:"data_ops"`
}
