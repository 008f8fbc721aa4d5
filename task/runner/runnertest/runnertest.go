// Package runnertest has engines that run no scripts, for tests of hosts.
package runnertest

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Engine runs a function instead of a script.
type Engine func(context.Context, runtime.Invocation) *runtime.Result

// Run implements [runner.Engine].
func (e Engine) Run(ctx context.Context, inv runtime.Invocation) *runtime.Result {
	r := e(ctx, inv)
	r.ID = inv.ID
	return r
}

// Return is the result of a script that returned the JSON v.
func Return(v string) *runtime.Result { return &runtime.Result{JSON: []byte(v)} }

// Work is a script that takes d, and stops when it is cancelled or at its time
// limit.
func Work(d time.Duration) Engine {
	return func(ctx context.Context, inv runtime.Invocation) *runtime.Result {
		limit := inv.Limits.WithDefaults().Timeout
		timer := time.NewTimer(min(d, limit))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return &runtime.Result{Error: runner.Cancelled(context.Cause(ctx))}
		case <-timer.C:
		}
		if d > limit {
			return &runtime.Result{Error: runtime.Errorf(runtime.Timeout, "the run took longer than its timeout of %v", limit)}
		}
		return Return(`"done"`)
	}
}

// Stuck is a script that doesn't come back before release is closed.
func Stuck(release <-chan struct{}) Engine {
	return func(context.Context, runtime.Invocation) *runtime.Result {
		<-release
		return Return(`"late"`)
	}
}

// Echo is a script that returns its event. If the event has a field "as", it
// fails with that error type; if it has "ms", it works so long.
func Echo(ctx context.Context, inv runtime.Invocation) *runtime.Result {
	event, _ := inv.Event.(value.Map)
	if kind, ok := event["as"].(string); ok {
		return &runtime.Result{Error: runtime.Errorf(runtime.ErrorType(kind), "as the event says")}
	}
	if ms, ok := event["ms"].(float64); ok {
		return Work(time.Duration(ms)*time.Millisecond)(ctx, inv)
	}
	return Return(fmt.Sprintf("%q", fmt.Sprint(inv.Script, " ", inv.Event, " ", inv.Limits.Timeout)))
}

// Tenants are tenants with the scripts job, other and deep/er.
func Tenants(ids ...string) runtime.Directory {
	d := runtime.Directory{}
	for _, id := range ids {
		scripts := fstest.MapFS{"job.lua": {Data: []byte("return 1")}, "other.lua": {Data: []byte("return 2")}, "deep/er.lua": {Data: []byte("return 3")}}
		d[tenant.ID(id)] = runtime.Tenant{ID: tenant.ID(id), Scripts: []fs.FS{scripts}}
	}
	return d
}

// WithTimeout sets the time limit of a tenant's runs, and returns the directory.
func WithTimeout(d runtime.Directory, id tenant.ID, timeout time.Duration) runtime.Directory {
	t := d[id]
	t.Limits.Timeout = timeout
	d[id] = t
	return d
}
