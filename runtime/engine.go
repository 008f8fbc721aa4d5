package runtime

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/compile"
)

// Engine runs scripts. It holds what all runs of a process share, and any
// number of them may run at once.
type Engine struct {
	config    Config
	compiler  *compile.Compiler
	sandbox   *sandbox
	scheduler *scheduler
}

// Config configures an engine.
type Config struct {
	// Clock is the clock of all runs. The default is this machine's.
	Clock *clock.Dual
	// Modules are the native modules that scripts may use.
	Modules []native.Module
	// HostKind is the kind of host, "cli", "lambda" or "task"; HostName is the
	// name of the machine.
	HostKind, HostName string
	// Compile bounds sources; zero fields stand for their defaults.
	Compile compile.Limits
	// Memory watches the memory of the process. By default nothing limits what
	// all runs hold together, and a run's own limit counts only what its library
	// functions make.
	Memory *vm.MemoryWatcher
	// Observer is notified of runs. The default observes nothing.
	Observer Observer
	// Yield is vm.Config.Yield, for tests in fake time.
	Yield func()
}

// Observer is notified of runs, for metrics and traces. Its functions are called
// by the goroutines of runs, many at once, and must return soon. Nil ones aren't
// called.
type Observer struct {
	// Begin is called before each run. It returns the context of the run, made
	// from ctx, and a function that is called with its result.
	Begin func(ctx context.Context, inv *Invocation) (context.Context, func(*Result))
	// Call is called before each native call of a run, with the context that
	// Begin returned and the full name of the function. It returns a function
	// that is called after the call.
	Call func(ctx context.Context, name string) (done func())
	// Interrupted is called with the time between a deadline, of a run or of a
	// function under a deadline or a lease, and the end of what it interrupted.
	Interrupted func(lag time.Duration)
}

// New makes an engine.
func New(config Config) *Engine {
	if config.Clock == nil {
		config.Clock = clock.NewDual(clock.System())
	}
	compiler := compile.New(withCharges(config.Compile))
	return &Engine{
		config:    config,
		compiler:  compiler,
		sandbox:   newSandbox(compiler, config.Modules),
		scheduler: newScheduler(runtime.GOMAXPROCS(0)),
	}
}

// Compile compiles a script ahead of its first run. The error is one of
// [SyntaxError] and [Cancelled].
func (e *Engine) Compile(ctx context.Context, script, source string) *Error {
	if _, err := e.compiler.Compile(ctx, script, source); err != nil {
		return compileError(err)
	}
	return nil
}

// compileError returns the error of a script that didn't compile.
func compileError(err error) *Error {
	var syntax *compile.SyntaxError
	if !errors.As(err, &syntax) {
		return Errorf(Cancelled, "cancelled before it was compiled")
	}
	e := Errorf(SyntaxError, "%s", syntax.Message)
	e.File, e.Line, e.Column = syntax.File, syntax.Line, syntax.Column
	return e
}
