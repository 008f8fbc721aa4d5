// Package runner is what both hosts of package task, the server and the batch,
// share: how one invocation is run, how much time there is to stop, and how results
// are written.
package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Engine runs scripts: a [runtime.Engine]. It must return soon after its
// context has ended.
type Engine interface {
	Run(context.Context, runtime.Invocation) *runtime.Result
}

// Run runs a script. A panic outside of the script is an error of this run
// alone, which panicked is told about.
func Run(ctx context.Context, r Engine, inv runtime.Invocation, panicked func(any)) (result *runtime.Result) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			panicked(p)
			result = &runtime.Result{ID: inv.ID, StartedAt: began, Error: runtime.Errorf(runtime.HostInternal, "the host failed")}
		}
	}()
	result = r.Run(ctx, inv)
	if e := result.Error; e != nil && e.Type == runtime.Cancelled && isShutdown(context.Cause(ctx)) {
		result.Error = Shutdown() // cancelled before it was compiled
	}
	return result
}

// NoLog is the log of a run that is not logged.
func NoLog(*runtime.Invocation) native.Logger { return noLog{} }

type noLog struct{}

func (noLog) Log(string, string, value.Map) {}

// Shutdown is the error of an invocation that a host does not run, or does not
// finish, because it stops.
func Shutdown() *runtime.Error {
	return runtime.Errorf(runtime.HostShutdown, "%s", runtime.Shutdown{}.Error())
}

// Cancelled is the error of an invocation that was cancelled for a cause.
func Cancelled(cause error) *runtime.Error {
	if isShutdown(cause) {
		return Shutdown()
	}
	return runtime.Errorf(runtime.Cancelled, "cancelled: %v", cause)
}

func isShutdown(cause error) bool { return errors.As(cause, new(runtime.Shutdown)) }

// StopTimes say how long a host may take to stop.
type StopTimes struct {
	// Timeout is the time from the request to stop until the process is killed,
	// as the platform has it set. The default is 30 s.
	Timeout time.Duration
	// Reserve is what is left of Timeout for cancelled runs to free their locks
	// and for their results to be delivered. The default is 5 s, and it is never
	// more than half of Timeout.
	Reserve time.Duration
}

const (
	defaultStopTimeout = 30 * time.Second
	defaultStopReserve = 5 * time.Second
)

// WithDefaults sets what is not set. It is an error if a time is negative.
func (s StopTimes) WithDefaults() (StopTimes, error) {
	if s.Timeout < 0 || s.Reserve < 0 {
		return s, fmt.Errorf("stop timeout %v, reserve %v: want 0 or more", s.Timeout, s.Reserve)
	}
	s.Timeout = cmp.Or(s.Timeout, defaultStopTimeout)
	s.Reserve = min(cmp.Or(s.Reserve, defaultStopReserve), s.Timeout/2)
	return s, nil
}

// GiveUp is how long cancelled runs are waited for: the last fifth of the
// reserve is for results to be delivered.
func (s StopTimes) GiveUp() time.Duration { return s.Reserve - s.Reserve/5 }

// JSONLine encodes v as one line of JSON, without escapes for HTML. v consists of
// structs, strings, numbers and JSON, which always can be encoded.
func JSONLine(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
