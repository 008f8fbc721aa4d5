package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
)

// OpenTraces returns traces that go to a collector by OTLP over HTTP.
func OpenTraces(ctx context.Context, endpoint string) (*spans.Traces, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
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
