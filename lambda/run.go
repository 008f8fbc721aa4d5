package lambda

import (
	"context"
	"io/fs"
	"path"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
)

// Bounds of a response in bytes, as it leaves: JSON with its headers, and with a
// body that isn't text as base64.
const (
	// ResponseBytesMax is the platform's limit.
	ResponseBytesMax = 6 << 20
	// LoadBalancerBytesMax is a load balancer's limit. It makes status 502 of a
	// larger response.
	LoadBalancerBytesMax = 1 << 20
)

// serveHTTP runs a script for an HTTP request. Errors are HTTP responses too.
func (h *Host) serveHTTP(i *invocation, m value.Map) ([]byte, *runtime.Error) {
	r, failed := readRequest(m)
	if failed != nil {
		h.logRefused(i, failed)
		return r.format.failure(failed, i.id), nil
	}
	result := h.run(i, r.item)
	if result.Error != nil {
		return r.format.failure(result.Error, i.id), nil
	}
	return result.JSON, nil
}

// run runs the script for an item and logs the result. It returns before the
// platform's deadline, whatever the script does.
func (h *Host) run(i *invocation, it item) (r *runtime.Result) {
	defer func() {
		if p := recover(); p != nil {
			r = &runtime.Result{Error: h.logPanic(i.log, p)}
		}
	}()
	inv, failed := h.invocation(i, it)
	if failed != nil {
		h.logRefused(i, failed)
		return &runtime.Result{Error: failed}
	}
	shortened := i.applyBudget(inv, h.Clock)
	if inv.Limits.Timeout <= 0 && shortened {
		r = &runtime.Result{ID: inv.ID, Error: i.timedOut(0)}
	} else {
		r = h.await(i, inv)
	}
	if r.Error != nil && r.Error.Type == runtime.Timeout && shortened {
		r.Error.Message = i.timedOut(inv.Limits.Timeout).Message
	}
	runRecord.Write(i.log, r, runlog.Run(string(inv.Tenant), inv.Script, inv.ID)...)
	return r
}

// invocation returns what the engine is to run for an item.
func (h *Host) invocation(i *invocation, it item) (*runtime.Invocation, *runtime.Error) {
	t, event, failed := h.resolve(i, it)
	if failed != nil {
		return nil, failed
	}
	inv, failed := h.Tenants.Resolve(t.tenant, t.script, nil)
	if failed != nil {
		return nil, failed
	}
	inv.ID = runtime.NewID(h.Clock.Now().Wall)
	inv.Event, inv.Encode = event, it.encode
	inv.Limits.ResultBytes = min(inv.Limits.WithDefaults().ResultBytes, it.responseMax())
	inv.Log = h.RunLog(i.log, inv)
	return inv, nil
}

// await runs an invocation. A run that has not returned when the response must be
// sent is abandoned.
func (h *Host) await(i *invocation, inv *runtime.Invocation) *runtime.Result {
	done := make(chan *runtime.Result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- &runtime.Result{ID: inv.ID, Error: h.logPanic(i.log, p)}
			}
		}()
		done <- h.Engine.Run(i.ctx, *inv)
	}()
	var late <-chan time.Time
	if i.deadline != 0 {
		timer := time.NewTimer(i.remaining(h.Clock.ElapsedMax()))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case r := <-done:
		return r
	case <-late:
	}
	h.abandoned.Store(true)
	i.log.Error("a run has not come back and is abandoned", zap.String("runId", inv.ID))
	return &runtime.Result{ID: inv.ID, Error: runtime.Errorf(runtime.Timeout, "the run has not come back from a native call")}
}

var runRecord = runlog.Record{Level: zap.DebugLevel, FailedLevel: zap.ErrorLevel}

// compileTime bounds the time for compiling scripts ahead.
const compileTime = 2 * time.Second

// compile compiles the scripts of all tenants ahead of their first runs. Mistakes
// in them are logged, and are errors again when they are run.
func (h *Host) compile() {
	ctx, cancel := context.WithTimeout(context.Background(), compileTime)
	defer cancel()
	for id, t := range h.Tenants {
		if len(t.Scripts) == 0 {
			continue
		}
		log := h.Log.With(zap.String("tenantId", string(id)))
		err := fs.WalkDir(t.Scripts[0], ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return err
			}
			if d.Type().IsRegular() && path.Ext(name) == ".lua" {
				h.compileOne(ctx, log, string(id), name)
			}
			return nil
		})
		if err != nil {
			log.Warn("the scripts can't be read", zap.Error(err))
		}
	}
}

func (h *Host) compileOne(ctx context.Context, log *zap.Logger, id, name string) {
	inv, failed := h.Tenants.Resolve(id, name, nil)
	if failed == nil {
		failed = h.Engine.Compile(ctx, inv.Script, inv.Source)
	}
	if failed != nil && ctx.Err() == nil {
		log.Warn("a script can't be compiled", append(runlog.ErrorFields(failed), zap.String("script", name))...)
	}
}
