package telemetry

import (
	"context"

	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Observer returns an observer that reports runs to metrics and traces. Either
// may be nil.
func Observer(m *Metrics, t *spans.Traces) runtime.Observer {
	var o runtime.Observer
	if m != nil {
		o.Begin, o.Interrupted = m.Begin, m.Interrupted
	}
	if t == nil {
		return o
	}
	o.Call = t.Call
	begin := o.Begin
	o.Begin = func(ctx context.Context, inv *runtime.Invocation) (context.Context, func(*runtime.Result)) {
		ctx, traced := t.Begin(ctx, inv)
		if begin == nil {
			return ctx, traced
		}
		ctx, counted := begin(ctx, inv)
		return ctx, func(r *runtime.Result) {
			counted(r)
			traced(r)
		}
	}
	return o
}
