package spans

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// WithXRayParent returns ctx with the remote span that a header of X-Ray names,
// such as
// "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
// and ctx itself if the header is invalid.
func WithXRayParent(ctx context.Context, header string) context.Context {
	var c trace.SpanContextConfig
	c.Remote = true
	for part := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Root":
			version, rest, _ := strings.Cut(value, "-")
			if id, err := trace.TraceIDFromHex(strings.ReplaceAll(rest, "-", "")); err == nil && version == "1" {
				c.TraceID = id
			}
		case "Parent":
			if id, err := trace.SpanIDFromHex(value); err == nil {
				c.SpanID = id
			}
		case "Sampled":
			c.TraceFlags = c.TraceFlags.WithSampled(value == "1")
		}
	}
	parent := trace.NewSpanContext(c)
	if !parent.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, parent)
}
