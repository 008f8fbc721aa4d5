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
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/task/schedule"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Config is what a host is made from. The zero value of a field stands for its
// default.
type Config struct {
	// Engine runs the scripts. Required.
	Engine runner.Engine
	// Tenants are those that it runs for.
	Tenants runtime.Directory
	// Clock is the engine's. Required for schedules.
	Clock *clock.Dual
	// Locks and Store keep what is known of schedules. Required for schedules.
	Locks *lock.Locks
	Store db.Store
	// Table has the rows of locks. Required for schedules. nil disables the
	// listing and freeing of locks.
	Table locktable.Table
	// Tokens are the tokens of those who may call. Without any, every caller is an operator, and only
	// this machine is answered.
	Tokens []api.Token
	// Limits say how much runs at once and how much waits.
	Limits Limits
	// Retention bounds how long results can be read.
	Retention Retention
	// Schedules start scripts at their due times.
	Schedules []schedule.Schedule
	// LameDuck is how long the host goes on to serve after the request to stop,
	// while it already says that it isn't ready. It is part of StopTimeout. The
	// default 0 disables it.
	LameDuck time.Duration
	// StopTimeout is the time from the request to stop until the process is
	// killed, as the platform has it set. The default is 30 s.
	StopTimeout time.Duration
	// StopReserve is what is left of it for cancelled runs to free their locks
	// and for their results to be delivered. The default is 5 s, and it is
	// never more than half of StopTimeout.
	StopReserve time.Duration
	// HostName and Process name the holder in the rows of schedules' locks.
	HostName, Process string
	// Log takes one record for each run, and other records for operators. nil
	// disables it.
	Log *zap.Logger
	// Audit takes one record for each act of an operator or tenant that changes
	// something. The default is Log with the name "audit".
	Audit *zap.Logger
	// Problems returns reasons why the host isn't ready, other than that it stops.
	// nil disables it.
	Problems func() []api.Problem
	// Reload reads the configuration again for POST /v1/reload, and calls
	// [Host.Reload]. nil disables the resource.
	Reload func() error
	// RunLog returns the log of a run. nil disables it.
	RunLog func(*runtime.Invocation) native.Logger
	// Context adds to the context of a run what a request's header carries, its
	// trace for example. nil adds nothing.
	Context func(context.Context, http.Header) context.Context
	// Metrics answers /metrics on the internal port. nil disables it.
	Metrics http.Handler
	// Events are called when something happens, for metrics.
	Events Events
}

// Events are called when something happens, for metrics. nil disables one. They
// must return soon.
type Events struct {
	// Started is called when an invocation has its slot, after the time that it
	// has waited.
	Started func(id tenant.ID, waited time.Duration)
	// Ended is called when an accepted invocation has its result.
	Ended func(id tenant.ID, r *runtime.Result)
	// Refused is called when an invocation isn't accepted. The tenant may be
	// unknown.
	Refused func(runtime.ErrorType)
	// Abandoned is called when a run didn't come back after its end and got its
	// result without, Returned when it has come back after all.
	Abandoned, Returned func(id tenant.ID)
	// Unauthorized is called for a request without a valid token, with why:
	// "missing" or "wrong".
	Unauthorized func(reason string)
	// Dropped is called when so many due times of a schedule are not run.
	Dropped func(id tenant.ID, schedule string, times int)
}

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
	stop, err := runner.StopTimes{Timeout: c.StopTimeout, Reserve: c.StopReserve}.WithDefaults()
	if err != nil {
		return c, err
	}
	c.StopTimeout, c.StopReserve = stop.Timeout, stop.Reserve
	if left := c.StopTimeout - c.StopReserve; c.LameDuck < 0 || c.LameDuck > left {
		return c, fmt.Errorf("lame duck %v: want at most %v, which is the stop timeout of %v without its reserve", c.LameDuck, left, c.StopTimeout)
	}
	if len(c.Schedules) > 0 {
		if err := c.canSchedule(); err != nil {
			return c, err
		}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Audit == nil {
		c.Audit = c.Log.Named("audit")
	}
	if c.Problems == nil {
		c.Problems = func() []api.Problem { return nil }
	}
	if c.RunLog == nil {
		c.RunLog = runner.NoLog
	}
	if c.Context == nil {
		c.Context = func(ctx context.Context, _ http.Header) context.Context { return ctx }
	}
	return c, nil
}

// canSchedule checks that there is what schedules need.
func (c Config) canSchedule() error {
	if c.Clock == nil || c.Locks == nil || c.Store == nil || c.Table == nil {
		return errors.New("schedules need a clock, locks, their table and a store")
	}
	return nil
}
