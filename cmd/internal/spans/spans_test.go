package spans

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/build"
	"github.com/tidelock-lua/tidelock/runtime"
)

const header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

// collector is what spans are sent to.
func collector(t *testing.T, status int) (endpoint string, got chan string) {
	t.Helper()
	got = make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %v, %v", r.Method, r.Header, err)
		}
		got <- r.URL.Path + " " + string(body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"partialSuccess":{}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func TestOTLPExportsSpans(t *testing.T) {
	endpoint, got := collector(t, 200)
	otlp, err := NewOTLP(endpoint, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	traces := New(otlp)
	ctx, end := traces.Begin(WithXRayParent(t.Context(), header), &runtime.Invocation{ID: "run-1", Tenant: "acme", Script: "a.lua"})
	_, call := traces.tracer.Start(ctx, "native.db.get", oteltrace.WithTimestamp(time.Unix(1, 5)), oteltrace.WithAttributes(
		attribute.Bool("b", true), attribute.Int64("i", 1<<60), attribute.Float64("f", 0.5), attribute.StringSlice("l", []string{"x"})))
	call.SetStatus(codes.Ok, "")
	call.End(oteltrace.WithTimestamp(time.Unix(2, 0)))
	end(&runtime.Result{Error: runtime.Errorf(runtime.Timeout, "the secret of an error")})
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, body, _ := strings.Cut(<-got, " ")
	var request struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []map[string]any }
			ScopeSpans []struct {
				Scope map[string]any
				Spans []map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil || path != "/v1/traces" {
		t.Fatalf("%s: %v", path, err)
	}
	sent := request.ResourceSpans[0].ScopeSpans[0].Spans
	if len(sent) != 2 {
		t.Fatalf("got %s", body)
	}
	for name, want := range map[string]any{
		"name": "native.db.get", "traceId": "5759e988bd862e3fe1be46a994272793", "parentSpanId": sent[1]["spanId"],
		"startTimeUnixNano": "1000000005", "endTimeUnixNano": "2000000000", "kind": 1.0,
	} {
		if sent[0][name] != want {
			t.Errorf("%s: got %v, want %v", name, sent[0][name], want)
		}
	}
	for _, want := range []string{
		`"attributes":[{"key":"b","value":{"boolValue":true}},{"key":"i","value":{"intValue":"1152921504606846976"}},{"key":"f","value":{"doubleValue":0.5}},{"key":"l","value":{"stringValue":"[\"x\"]"}}]`,
		`"parentSpanId":"53995c3f42cd8ad8"`, `"status":{"code":2,"message":"Script.Timeout"}`, `"status":{"code":1}`,
		`{"key":"tidelock.outcome","value":{"stringValue":"Script.Timeout"}}`, `{"key":"service.name","value":{"stringValue":"tidelock"}}`, `{"key":"service.version","value":{"stringValue":"` + build.Version() + `"}}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "secret") {
		t.Errorf("got %s", body)
	}
}

func TestOTLPRefusedByTheCollectorIsAnError(t *testing.T) {
	endpoint, _ := collector(t, 503)
	otlp, err := NewOTLP(endpoint+"/other", nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	otlp.pause = time.Millisecond
	traces := New(otlp)
	_, end := traces.Begin(t.Context(), &runtime.Invocation{})
	end(&runtime.Result{})
	if err := traces.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v", err)
	}
}

func TestXRayParent(t *testing.T) {
	for _, test := range []struct {
		name, header string
		trace, span  string
		sampled      bool
	}{
		{"sampled", header, "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", true},
		{"not sampled", strings.Replace(header, "Sampled=1", "Sampled=0", 1), "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", false},
		{"in another order, with more", "Sampled=1; Lineage=a:0;Parent=53995c3f42cd8ad8; Root=1-5759e988-bd862e3fe1be46a994272793", "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", true},
		{"nothing", "", "", "", false}, {"no parent", "Root=1-5759e988-bd862e3fe1be46a994272793", "", "", false},
		{"another version", strings.Replace(header, "1-", "2-", 1), "", "", false}, {"no hexadecimal", strings.Replace(header, "5759", "575g", 1), "", "", false},
		{"signs alone", ";=;Root=;Parent=;Root=1-", "", "", false},
	} {
		got := oteltrace.SpanContextFromContext(WithXRayParent(context.Background(), test.header))
		if got.IsValid() != (test.trace != "") || got.IsValid() && (got.TraceID().String() != test.trace || got.SpanID().String() != test.span || got.IsSampled() != test.sampled) {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}
