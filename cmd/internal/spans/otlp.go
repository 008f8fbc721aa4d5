package spans

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"golang.org/x/net/http/httpguts"
)

// OTLP sends spans to a collector, by OTLP over HTTP in its JSON form.
// OpenTelemetry's own exporter brings gRPC and protocol buffers: 9 MiB, half as
// much again as the whole program for AWS Lambda, and paid at each cold start. It
// also takes any page of status 200 for a success; this one accepts only OTLP's
// answer.
type OTLP struct {
	url    string
	header http.Header
	client http.Client
	log    *zap.Logger
	// pause is how long to wait before the first repetition, with jitter.
	pause time.Duration
}

// tracesPath is where a collector takes spans, below its base URL.
const tracesPath = "/v1/traces"

// NewOTLP returns an exporter to a collector at a base URL such as
// http://127.0.0.1:4318, to which the path of OTLP is added unless it is there.
// Requests have the headers that OTEL_EXPORTER_OTLP_HEADERS names, and go through
// proxy if that is not nil. log gets the collector's warnings.
func NewOTLP(endpoint string, proxy func(*http.Request) (*url.URL, error), log *zap.Logger) (*OTLP, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the endpoint of spans is no URL")
	}
	if u.Path = strings.TrimRight(u.Path, "/"); !strings.HasSuffix(u.Path, tracesPath) {
		u.Path += tracesPath
	}
	u.RawPath, u.Fragment = "", ""
	return &OTLP{
		url: u.String(), header: headersOf(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), log: log, pause: 250 * time.Millisecond,
		client: http.Client{
			Timeout:       sendTime,
			Transport:     &http.Transport{Proxy: proxy, IdleConnTimeout: 30 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// headersOf reads the headers in the form of OpenTelemetry's variable:
// "name=value,name=value", with values encoded as in a URL.
func headersOf(text string) http.Header {
	out := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if ok && err == nil && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) {
			out.Set(name, value)
		}
	}
	return out
}

const (
	sendTime    = 5 * time.Second // bounds one request to the collector
	attemptsMax = 4
	answerMax   = 64 << 10 // bytes of an answer
)

// ExportSpans sends spans in one request, which is repeated while the collector
// asks for that.
func (o *OTLP) ExportSpans(ctx context.Context, all []trace.ReadOnlySpan) error {
	if len(all) == 0 {
		return nil
	}
	body, err := json.Marshal(requestOf(all))
	if err != nil {
		return err
	}
	pause := o.pause
	for n := 1; ; n++ {
		again, err := o.send(ctx, body, len(all))
		if err == nil || !again || n == attemptsMax {
			return err
		}
		timer := time.NewTimer(time.Duration(rand.Float64() * float64(pause)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 4
	}
}

// send sends a request once. again is set if the collector asks for it again.
func (o *OTLP) send(ctx context.Context, body []byte, spans int) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header = o.header.Clone()
	request.Header.Set("Content-Type", "application/json")
	response, err := o.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1)) // all of it, for the connection to be used again
	switch status := response.StatusCode; {
	case repeats(status):
		return true, fmt.Errorf("the collector of spans answered %s", response.Status)
	case status != http.StatusOK:
		return false, fmt.Errorf("the collector of spans answered %s", response.Status)
	case err != nil:
		return false, fmt.Errorf("the answer of the collector of spans: %w", err)
	}
	return false, o.checkAnswer(text, response.Header.Get("Content-Type"), spans)
}

// repeats reports whether a status asks for the request to be repeated.
func repeats(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// checkAnswer returns nil if an answer of status 200 is OTLP's, and reports no span
// as refused.
func (o *OTLP) checkAnswer(text []byte, contentType string, spans int) error {
	var answer struct {
		PartialSuccess *struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // 64-bit numbers are strings in OTLP's JSON
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&answer)
	if err == nil && d.More() || len(text) > answerMax || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = errors.New("no answer of OTLP")
	}
	if err != nil {
		return fmt.Errorf("what answers as the collector of spans is none: status 200 with %d bytes of %.80q, want OTLP's JSON", len(text), contentType)
	}
	partial := answer.PartialSuccess
	if partial == nil {
		return nil
	}
	message := strings.ToValidUTF8(partial.ErrorMessage[:min(len(partial.ErrorMessage), 1000)], "")
	rejected, err := strconv.ParseInt(strings.Trim(string(partial.RejectedSpans), `"`), 10, 64)
	switch {
	case len(partial.RejectedSpans) > 0 && string(partial.RejectedSpans) != "null" && (err != nil || rejected < 0):
		return fmt.Errorf("the collector of spans refused %.20q of %d spans: %s", partial.RejectedSpans, spans, message)
	case rejected > 0:
		return fmt.Errorf("the collector of spans refused %d of %d spans: %s", rejected, spans, message)
	case message != "":
		o.log.Warn("the collector of spans warns", zap.String("warning", message))
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
