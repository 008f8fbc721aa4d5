// Package spans makes OpenTelemetry spans of what happens in a program.
package spans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tidelock-lua/tidelock/cmd/internal/build"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Traces makes a span for each run, and below it one for each native call, for
// each wait for a lock and for each hold of one.
type Traces struct {
	provider *trace.TracerProvider
	tracer   oteltrace.Tracer
	// runs holds the contexts of runs in flight by their ids: an event of a lock
	// has the run's id only.
	runs sync.Map
}

// New returns traces that send their spans to an exporter.
func New(exporter trace.SpanExporter) *Traces {
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "tidelock"), attribute.String("service.version", build.Version()),
		)),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("github.com/tidelock-lua/tidelock")}
}

// Close sends the spans that are left, until ctx ends.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Flush sends the spans that have ended, until ctx ends.
func (t *Traces) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// Begin begins the span of a run, as a child of the span in ctx if there is one.
// The returned function ends it.
func (t *Traces) Begin(ctx context.Context, inv *runtime.Invocation) (context.Context, func(*runtime.Result)) {
	ctx, span := t.tracer.Start(ctx, "run", oteltrace.WithAttributes(
		attribute.String("tidelock.tenant", string(inv.Tenant)),
		attribute.String("tidelock.script", inv.Script),
		attribute.String("tidelock.run", inv.ID),
	))
	t.runs.Store(inv.ID, ctx)
	return ctx, func(r *runtime.Result) {
		t.runs.Delete(inv.ID)
		outcome := "ok"
		if r.Error != nil {
			outcome = string(r.Error.Type)
		}
		span.SetAttributes(attribute.String("tidelock.outcome", outcome))
		if r.Error != nil {
			// Not its message: that may hold what the script works on.
			span.SetStatus(codes.Error, string(r.Error.Type))
		}
		span.End()
	}
}

// Call begins the span of a native call. The returned function ends it.
func (t *Traces) Call(ctx context.Context, name string) func() {
	_, span := t.tracer.Start(ctx, name)
	return func() { span.End() }
}

// Locks returns events that make spans of waits and holds once they are over.
func (t *Traces) Locks() lock.Events {
	return lock.Events{
		Acquire: func(a lock.AcquireEvent) {
			t.recordPast("lock wait", a.Waited, a.By, a.Key, attribute.Bool("tidelock.lock.acquired", a.Acquired),
				attribute.String("tidelock.lock.scope", a.Scope.String()))
		},
		Release: func(r lock.ReleaseEvent) {
			t.recordPast("lock hold", r.Held, r.By, r.Key, attribute.String("tidelock.lock.released", r.Result.String()),
				attribute.String("tidelock.lock.scope", r.Scope.String()))
		},
	}
}

// recordPast makes the span of something that took d and ends now.
func (t *Traces) recordPast(name string, d time.Duration, by lock.Holder, key lock.Key, attributes ...attribute.KeyValue) {
	ctx, ok := t.runs.Load(by.Run)
	if !ok {
		return // a lock of the host
	}
	now := time.Now()
	_, span := t.tracer.Start(ctx.(context.Context), name, oteltrace.WithTimestamp(now.Add(-d)),
		oteltrace.WithAttributes(append(attributes, attribute.String("tidelock.lock.name", key.Name))...))
	span.End(oteltrace.WithTimestamp(now))
}

// Running returns how many runs are in flight.
func (t *Traces) Running() (n int) {
	t.runs.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
