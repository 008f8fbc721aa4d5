package task

import (
	"context"
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/task/runner"
)

// executor runs invocations that have a slot, and gives every invocation
// exactly one result.
type executor struct {
	engine    runner.Engine
	log       *zap.Logger
	events    Events
	registry  *registry
	retention *retention
}

// run runs an invocation and completes it.
func (x *executor) run(inv *invocation) {
	work, ok := inv.begin(func(e *runtime.Error) { x.abandon(inv, e) })
	if ok {
		x.execute(inv, work)
	}
}

// execute runs the work of an invocation that has begun, and completes it.
func (x *executor) execute(inv *invocation, work runtime.Invocation) {
	if started := x.events.Started; started != nil {
		started(inv.tenant, inv.waited())
	}
	if x.complete(inv, x.call(inv, work), false) {
		return
	}
	x.logOf(inv).Warn("a run that was given up has come back")
	if returned := x.events.Returned; returned != nil {
		returned(inv.tenant)
	}
}

// call is one run of the engine.
func (x *executor) call(inv *invocation, work runtime.Invocation) *runtime.Result {
	if cause := context.Cause(inv.ctx); cause != nil {
		return inv.failed(runner.Cancelled(cause))
	}
	return runner.Run(inv.ctx, x.engine, work, func(p any) {
		x.logOf(inv).Error("a run panicked", zap.Any("panic", p), zap.ByteString("goStack", debug.Stack()))
	})
}

// complete gives an invocation its result, and returns false if it has one
// already. abandoned reports that its run goes on.
func (x *executor) complete(inv *invocation, r *runtime.Result, abandoned bool) bool {
	if !inv.claim() {
		return false
	}
	text, err := r.MarshalJSON()
	if err != nil {
		panic(err) // structs of strings, numbers and JSON always marshal
	}
	line := append(text, '\n')
	x.retention.keep(inv, cap(line))
	inv.finish(line, r.Error, abandoned)
	x.report(inv, r)
	x.registry.inFlight.Done()
	return true
}

// fail completes an invocation with an error.
func (x *executor) fail(inv *invocation, e *runtime.Error) { x.complete(inv, inv.failed(e), false) }

// abandon completes an invocation whose run doesn't come back.
func (x *executor) abandon(inv *invocation, e *runtime.Error) {
	if !x.complete(inv, inv.failed(e), true) {
		return
	}
	x.logOf(inv).Error("a run did not come back after its end and was given up; it keeps its slot")
	if abandoned := x.events.Abandoned; abandoned != nil {
		abandoned(inv.tenant)
	}
}

// logOf is the log about an invocation.
func (x *executor) logOf(inv *invocation) *zap.Logger { return x.log.With(inv.fields()...) }

// report tells log and metrics how an invocation ended.
func (x *executor) report(inv *invocation, r *runtime.Result) {
	fields := append(inv.fields(), zap.Float64("waitedMs", runlog.Millis(inv.waited())))
	runRecord.Write(x.log, r, fields...)
	if ended := x.events.Ended; ended != nil {
		ended(inv.tenant, r)
	}
}

var runRecord = runlog.Record{Level: zap.InfoLevel, FailedLevel: zap.WarnLevel}
