package spans

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
)

// OTLP sends spans to a collector, by OTLP over HTTP in its JSON form.
// OpenTelemetry's own exporter brings gRPC and protocol buffers: 9 MiB, half as
// much again as the whole program for AWS Lambda, and paid at each cold start.
type OTLP struct {
	url    string
	client http.Client
}

// NewOTLP returns an exporter to an endpoint such as http://127.0.0.1:4318. An
// endpoint without a path gets that of OTLP.
func NewOTLP(endpoint string) (*OTLP, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the endpoint of spans is no URL")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	// Never through a proxy.
	return &OTLP{url: u.String(), client: http.Client{Timeout: sendTime, Transport: &http.Transport{IdleConnTimeout: 30 * time.Second}}}, nil
}

// sendTime bounds one request to the collector.
const sendTime = 5 * time.Second

// ExportSpans sends spans in one request.
func (o *OTLP) ExportSpans(ctx context.Context, all []trace.ReadOnlySpan) error {
	if len(all) == 0 {
		return nil
	}
	body, err := json.Marshal(requestOf(all))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := o.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil { // for the connection to be used again
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector of spans answered %s", response.Status)
	}
	return nil
}

// Shutdown closes connections.
func (o *OTLP) Shutdown(context.Context) error {
	o.DropIdle()
	return nil
}

// DropIdle closes idle connections.
func (o *OTLP) DropIdle() { o.client.CloseIdleConnections() }

// The messages of OTLP, as opentelemetry-proto's JSON mapping has them: ids in
// hexadecimal, 64-bit numbers as strings.
type (
	message struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     status     `json:"status"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// requestOf puts spans of one process, of one scope, into a request.
func requestOf(all []trace.ReadOnlySpan) message {
	scope := scopeSpans{}
	scope.Scope.Name = all[0].InstrumentationScope().Name
	for _, s := range all {
		out := span{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
			Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
			Attributes: keyValues(s.Attributes()),
		}
		if s.Parent().SpanID().IsValid() {
			out.ParentID = s.Parent().SpanID().String()
		}
		switch s.Status().Code {
		case codes.Ok:
			out.Status.Code = 1
		case codes.Error:
			out.Status = status{2, s.Status().Description}
		}
		scope.Spans = append(scope.Spans, out)
	}
	return message{[]resourceSpans{{attributes{keyValues(all[0].Resource().Attributes())}, []scopeSpans{scope}}}}
}

func keyValues(all []attribute.KeyValue) (out []keyValue) {
	for _, a := range all {
		value := map[string]any{"stringValue": a.Value.String()}
		switch a.Value.Type() {
		case attribute.BOOL:
			value = map[string]any{"boolValue": a.Value.AsBool()}
		case attribute.INT64:
			value = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		case attribute.FLOAT64:
			value = map[string]any{"doubleValue": a.Value.AsFloat64()}
		}
		out = append(out, keyValue{string(a.Key), value})
	}
	return out
}
