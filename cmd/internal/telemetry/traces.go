package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
)

// OpenTraces returns traces that go to a collector by OTLP over HTTP, through the
// proxy that the environment names if there is one. What can't be sent is logged.
func OpenTraces(endpoint string, log *zap.Logger) (*spans.Traces, error) {
	exporter, err := spans.NewOTLP(endpoint, http.ProxyFromEnvironment, log)
	if err != nil {
		return nil, err
	}
	return spans.New(exporter), nil
}

// traceStateMax is how much of tracestate is passed on, in bytes: the least
// that W3C Trace Context asks for. The context of a run is kept as long as its
// result, so a header must not make it large.
const traceStateMax = 512

// Extract adds to ctx the span that a request's traceparent header names. A
// tracestate of more than 512 bytes is left out.
func Extract(ctx context.Context, h http.Header) context.Context {
	c := propagation.MapCarrier{"traceparent": h.Get("Traceparent")}
	if state := strings.Join(h.Values("Tracestate"), ","); len(state) <= traceStateMax {
		c["tracestate"] = state
	}
	return propagation.TraceContext{}.Extract(ctx, c)
}
