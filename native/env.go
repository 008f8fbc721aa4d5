package native

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Env tells native modules what a run is: whose, started how, and what it may
// use.
type Env struct {
	Tenant tenant.ID
	// Script is the name under which the run's script was started.
	Script string
	// RunID is unique to the run.
	RunID string
	// HostKind is how the run was started: "cli", "lambda" or "task".
	HostKind string
	// HostName is the name of the machine.
	HostName string
	// HostEnd is the ElapsedMax at which the host ends, after which nothing can be
	// cleaned up; 0 is never.
	HostEnd time.Duration
	// Log takes what the run logs.
	Log Logger
	// Trace is called with the full name of each native call, and what it returns
	// when the call is over. nil disables it.
	Trace func(name string) (done func())
	// DataOps is the budget of requests to the table of native.db: the limit
	// max_data_ops.
	DataOps *tenant.Budget
	// LogBytes is the budget of what the run logs: the limit log_bytes.
	LogBytes *tenant.Budget
}

// Logger takes one record of a run's log. Its level is "debug", "info",
// "warn" or "error"; fields are of the types of package value.
type Logger interface {
	Log(level, message string, fields value.Map)
}

// EnvOf returns the environment of a run.
func EnvOf(run *vm.Run) *Env { return run.Host().(*Env) }

// State returns what the run keeps under key, made by the first call. Modules
// use it for state of one run; the key is a value of an unexported type.
func State[T any](run *vm.Run, key any, make func() T) T {
	if v, ok := run.Value(key).(T); ok {
		return v
	}
	v := make()
	run.SetValue(key, v)
	return v
}
