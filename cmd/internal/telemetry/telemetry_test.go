package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tidelock-lua/tidelock/cmd/internal/build"
	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

type nowhere struct{}

func (nowhere) Log(string, string, value.Map) {}

// run runs a script with metrics and traces.
func run(t *testing.T, m *Metrics, traces *spans.Traces, source string) *runtime.Result {
	t.Helper()
	clk := clock.NewDual(clock.System())
	events := []lock.Events{m.Locks()}
	if traces != nil {
		events = append(events, traces.Locks())
	}
	locks, err := lock.New(clk, nil, lock.MachineClock{}, lock.Options{Events: lock.JoinEvents(events...)})
	if err != nil {
		t.Fatal(err)
	}
	engine := runtime.New(runtime.Config{
		Clock: clk, Observer: Observer(m, traces),
		Modules: []native.Module{coremodule.New(), deadlinemodule.New(), lockmodule.New(locks, lockmodule.Options{})},
	})
	return engine.Run(t.Context(), runtime.Invocation{
		ID: "run-1", Tenant: "acme", Script: "test.lua", Source: source, Log: nowhere{},
		Limits: tenant.Limits{Timeout: 2 * time.Second},
	})
}

const locked = `return native.lock.with("the-name", { scope = "local" }, function()
	pcall(native.deadline.with, 5, function() while true do end end)
	return native.lock.with("the-name", { scope = "local" }, print)
end)`

func (m *Metrics) text(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetricsCountRunsLocksAndInterrupts(t *testing.T) {
	m := NewMetrics()
	for _, source := range []string{locked, "error('x')"} {
		run(t, m, nil, source)
	}
	m.Task().Started("acme", time.Second)
	m.Task().Refused(runtime.TenantThrottled)
	m.Task().Abandoned("acme")
	m.Task().Returned("acme")
	m.Task().Dropped("acme", "nightly", 3)
	m.Blocked("acme")
	m.ClockAhead(-2 * time.Second)
	got := m.text(t)
	for _, want := range []string{
		`tidelock_runs_total{outcome="ok"} 1`,
		`tidelock_runs_total{outcome="Script.RuntimeError"} 1`,
		`tidelock_runs_running 0`,
		`tidelock_run_duration_seconds_count{outcome="ok"} 1`,
		`tidelock_interrupt_lag_seconds_count 1`,
		`tidelock_lock_wait_seconds_count{acquired="true",scope="local"} 1`,
		`tidelock_lock_hold_seconds_count{scope="local"} 1`,
		`tidelock_lock_lease_used_ratio_count{scope="local"} 1`,
		`tidelock_lock_releases_total{how="freed"} 1`,
		`tidelock_queue_wait_seconds_sum 1`,
		`tidelock_network_blocked_total 1`,
		`tidelock_invocations_refused_total{type="Tenant.Throttled"} 1`,
		`tidelock_runs_abandoned 0`,
		`tidelock_due_times_dropped_total 3`,
		`tidelock_clock_ahead_seconds -2`,
		`go_goroutines `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for _, name := range []string{"acme", "test.lua", "the-name", "run-1"} {
		if strings.Contains(got, name) {
			t.Errorf("%q is a label", name)
		}
	}
}

// A series that was renamed counts under both names.
func TestMetricsTellTheBuild(t *testing.T) {
	want := fmt.Sprintf("tidelock_build_info{goversion=%q,revision=%q,version=%q} 1\n", goruntime.Version(), build.Revision(), build.Version())
	if text := NewMetrics().text(t); !strings.Contains(text, want) {
		t.Errorf("no %s in %s", want, text)
	}
}

func TestMetricsKeepOldNames(t *testing.T) {
	m := NewMetrics()
	m.Locks().AmbiguityResolved(lock.Key{})
	m.Task().Dropped("acme", "nightly", 3)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for old, name := range map[string]string{
		"tidelock_ambiguous_writes_healed_total": "tidelock_ambiguous_writes_resolved_total",
		"tidelock_planned_times_dropped_total":   "tidelock_due_times_dropped_total",
	} {
		values, help := map[string]float64{}, map[string]string{}
		for _, f := range families {
			if f.GetName() == old || f.GetName() == name {
				values[f.GetName()], help[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue(), f.GetHelp()
			}
		}
		if len(values) != 2 || values[old] == 0 || values[old] != values[name] {
			t.Errorf("got %v, want the same count under %s and %s", values, old, name)
		}
		if want := "Deprecated: use " + name + "."; help[old] != want || help[name] == want {
			t.Errorf("got help %q, want %q for %s only", help, want, old)
		}
	}
}

func TestExtractBoundsTheContext(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, test := range []struct {
		state []string
		want  string
	}{
		{nil, ""}, {[]string{"a=1", "b=2"}, "a=1,b=2"},
		{[]string{"a=" + strings.Repeat("x", 200), "b=" + strings.Repeat("x", 200), "c=" + strings.Repeat("x", 200)}, ""},
	} {
		span := oteltrace.SpanContextFromContext(Extract(t.Context(), http.Header{"Traceparent": {parent}, "Tracestate": test.state}))
		if got := span.TraceState().String(); got != test.want || span.TraceID().String() != parent[3:35] {
			t.Errorf("%.20q: got %q of trace %s, want %q", test.state, got, span.TraceID(), test.want)
		}
	}
	for _, bad := range []string{"", "00", parent + "-x", strings.ToUpper(parent), "ff" + parent[2:]} {
		if span := oteltrace.SpanContextFromContext(Extract(t.Context(), http.Header{"Traceparent": {bad}})); span.IsValid() {
			t.Errorf("%q: got trace %s, want none", bad, span.TraceID())
		}
	}
}

func TestSpansOfARunItsCallsAndItsLocks(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	traces := spans.New(exporter)
	result := run(t, NewMetrics(), traces, locked+"\n")
	if result.Error != nil {
		t.Fatal(result.Error)
	}
	if err := traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names []string
	spans := exporter.GetSpans()
	root := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "run" })
	for _, s := range spans {
		names = append(names, s.Name)
		if s.Name != "run" && s.Parent.SpanID() != spans[root].SpanContext.SpanID() {
			t.Errorf("%s lies below %v, want the run", s.Name, s.Parent)
		}
		if s.EndTime.Before(s.StartTime) {
			t.Errorf("%s ends before it begins", s.Name)
		}
	}
	slices.Sort(names)
	want := []string{"lock hold", "lock wait", "native.deadline.with", "native.lock.with", "native.lock.with", "run"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if n := traces.Running(); n != 0 {
		t.Errorf("%d runs are kept after their end", n)
	}
}
