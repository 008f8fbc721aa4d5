package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
)

// traces sends spans to the configured collector, such as an extension of the
// function. A nil value sends none.
type traces struct {
	*spans.Traces
	otlp *spans.OTLP
	log  *zap.Logger
}

func openTraces(endpoint string, log *zap.Logger) (*traces, error) {
	if endpoint == "" {
		return nil, nil
	}
	otlp, err := spans.NewOTLP(endpoint, nil, log) // never through a proxy
	if err != nil {
		return nil, err
	}
	return &traces{spans.New(otlp), otlp, log}, nil
}

// observers make spans of runs, as children of the spans of X-Ray.
func (t *traces) observers() wire.Observers {
	if t == nil {
		return wire.Observers{}
	}
	return wire.Observers{
		Locks: []lock.Events{t.Locks()},
		Runs: runtime.Observer{
			Call: t.Call,
			Begin: func(ctx context.Context, inv *runtime.Invocation) (context.Context, func(*runtime.Result)) {
				// Not the variable of the environment, which several invocations would share.
				header, _ := ctx.Value(lambda.TraceHeader).(string)
				return t.Begin(spans.WithXRayParent(ctx, header), inv)
			},
		},
	}
}

// flush sends the spans that have ended: the environment may be frozen after the
// response.
func (t *traces) flush(ctx context.Context) {
	if t == nil {
		return
	}
	if err := t.Flush(ctx); err != nil {
		t.log.Warn("not all spans were sent", zap.Error(err))
	}
}

func (t *traces) dropIdle() {
	if t != nil {
		t.otlp.DropIdle()
	}
}
