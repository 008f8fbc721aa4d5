package task

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Runner runs scripts: a [runtime.Engine]. It must return soon after its
// context has ended.
type Runner interface {
	Run(context.Context, runtime.Invocation) *runtime.Result
}

// Table is what the host needs of the locks' rows, to list and to free them.
type Table interface {
	lock.Table
	lock.Lister
}

// Config is what a host is made from. The zero value of a field stands for the
// default that its comment names.
type Config struct {
	// Engine runs the scripts. Required.
	Engine Runner
	// Tenants are those that it runs for.
	Tenants runtime.Directory
	// Clock are the engine's. Required for schedules.
	Clock *clock.Dual
	// Locks and Store are where schedules are kept. Required for schedules.
	Locks *lock.Locks
	Store db.Store
	// Table has the rows of locks. Required for schedules. Default: locks can't
	// be listed or freed.
	Table Table
	// Tokens are who may call. Default: everybody, as their operator, from this
	// machine alone.
	Tokens []Token
	// Limits say how much runs at once and how much waits.
	Limits Limits
	// Retention says for how long finished invocations can be asked for.
	Retention Retention
	// Schedules start scripts by the clock.
	Schedules []Schedule
	// StopTimeout is the time from the request to stop until the process is
	// killed, as the platform has it set. Default 30 s.
	StopTimeout time.Duration
	// StopReserve is what is left of it for cancelled runs to free their locks
	// and for their results to be delivered. Default 5 s, and never more than
	// half of StopTimeout.
	StopReserve time.Duration
	// HostName and Process say in the rows of schedules' locks who holds them.
	HostName, Process string
	// Log takes one record for each run, and what an operator should know.
	// Default: none.
	Log *zap.Logger
	// RunLog is where a run logs to. Default: nowhere.
	RunLog func(*runtime.Invocation) native.Logger
	// Context adds to the context of a run what a request's header carries, its
	// trace for example. Default: nothing.
	Context func(context.Context, http.Header) context.Context
	// Metrics answers /metrics on the internal port. Default: not found.
	Metrics http.Handler
	// Events is told what happens, for metrics.
	Events Events
}

// Events tells a host what happens, for its metrics. Fields may be nil. They
// have to return soon.
type Events struct {
	// Started: an invocation has got its slot, after it has waited so long.
	Started func(id tenant.ID, waited time.Duration)
	// Ended: an accepted invocation has its result.
	Ended func(id tenant.ID, r *runtime.Result)
	// Refused: an invocation wasn't accepted. The tenant may be unknown.
	Refused func(runtime.ErrorType)
	// Abandoned: a run didn't come back after its end and got its result without;
	// Returned: it has come back after all.
	Abandoned, Returned func(id tenant.ID)
	// Dropped: so many planned times of a schedule won't be run.
	Dropped func(id tenant.ID, schedule string, times int)
}

const (
	defaultStopTimeout = 30 * time.Second
	defaultStopReserve = 5 * time.Second
)

// withDefaults sets what is not set, and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Engine == nil {
		return c, errors.New("a host needs an engine")
	}
	var err error
	if c.Limits, err = c.Limits.withDefaults(); err != nil {
		return c, err
	}
	if c.Retention, err = c.Retention.withDefaults(); err != nil {
		return c, err
	}
	if c.StopTimeout < 0 || c.StopReserve < 0 {
		return c, fmt.Errorf("stop timeout %v, reserve %v: want 0 or more", c.StopTimeout, c.StopReserve)
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = defaultStopTimeout
	}
	if c.StopReserve == 0 {
		c.StopReserve = defaultStopReserve
	}
	c.StopReserve = min(c.StopReserve, c.StopTimeout/2)
	if len(c.Schedules) > 0 && (c.Clock == nil || c.Locks == nil || c.Store == nil || c.Table == nil) {
		return c, errors.New("schedules need hands, locks, their table and a store")
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.RunLog == nil {
		c.RunLog = func(*runtime.Invocation) native.Logger { return noLog{} }
	}
	if c.Context == nil {
		c.Context = func(ctx context.Context, _ http.Header) context.Context { return ctx }
	}
	return c, nil
}

type noLog struct{}

func (noLog) Log(string, string, value.Map) {}
