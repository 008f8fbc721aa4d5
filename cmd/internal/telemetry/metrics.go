// Package telemetry makes metrics and traces of what happens in a program, for
// Prometheus and OpenTelemetry. Labels never hold a tenant, a script or the name
// of a lock, of which there may be any number. Spans do.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Metrics are the metrics of one process.
type Metrics struct {
	registry *prometheus.Registry

	runs           *prometheus.CounterVec
	running        prometheus.Gauge
	runSeconds     *prometheus.HistogramVec
	queueSeconds   prometheus.Histogram
	interrupts     prometheus.Histogram
	lockAttempts   *prometheus.CounterVec
	lockWaits      *prometheus.HistogramVec
	lockHolds      *prometheus.HistogramVec
	leaseUsed      *prometheus.HistogramVec
	lockReleases   *prometheus.CounterVec
	resolved       prometheus.Counter
	clockAhead     prometheus.Gauge
	networkBlocked prometheus.Counter
	refused        *prometheus.CounterVec
	unauthorized   *prometheus.CounterVec
	abandoned      prometheus.Gauge
	dropped        prometheus.Counter
}

// NewMetrics returns metrics, all at zero.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := factory{promauto.With(registry)}
	f.buildInfo()
	return &Metrics{
		registry: registry,

		runs:         f.counters("runs_total", "Runs that have ended, by outcome: ok, or the type of the error.", "outcome"),
		running:      f.gauge("runs_running", "Runs in flight."),
		runSeconds:   f.histograms("run_duration_seconds", "How long runs took.", seconds, "outcome"),
		queueSeconds: f.histogram("queue_wait_seconds", "How long invocations waited for their run to begin."),
		interrupts:   f.histogram("interrupt_lag_seconds", "How long a run, or code under a deadline or lease, went on after its end."),
		lockAttempts: f.counters("lock_attempts_total", "Puts of lock rows, by outcome: applied, refused, not_applied or unknown.", "outcome"),
		lockWaits:    f.histograms("lock_wait_seconds", "How long acquisitions of locks took.", seconds, "scope", "acquired"),
		lockHolds:    f.histograms("lock_hold_seconds", "How long locks were held.", seconds, "scope"),
		leaseUsed: f.histograms("lock_lease_used_ratio", "Hold time over lease; more than 1 is a holder that was stopped.",
			[]float64{.01, .05, .1, .25, .5, .75, .9, 1, 1.01, 1.1, 2}, "scope"),
		lockReleases: f.counters("lock_releases_total", "Releases of locks, by how: freed, lost, failed, or kept for a write in doubt.", "how"),
		resolved: f.renamed("ambiguous_writes_resolved_total", "ambiguous_writes_healed_total",
			"Requests in doubt, because their response was lost, that turned out to have been applied."),
		clockAhead:     f.gauge("clock_ahead_seconds", "How far this machine's clock is ahead of the table's; 0 while it is within lock.max_skew_ms."),
		networkBlocked: f.counter("network_blocked_total", "Requests of scripts to hosts that they may not reach."),
		refused:        f.counters("invocations_refused_total", "Invocations that were not accepted, by the type of the error.", "type"),
		unauthorized:   f.counters("requests_unauthorized_total", "Requests without a valid token, by reason: missing or wrong.", "reason"),
		abandoned:      f.gauge("runs_abandoned", "Runs that were answered without their result, and that have not returned yet."),
		dropped:        f.renamed("due_times_dropped_total", "planned_times_dropped_total", "Due times of schedules that won't be run."),
	}
}

// Handler serves the metrics as Prometheus reads them.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Begin counts a run in flight. The returned function counts its end.
func (m *Metrics) Begin(ctx context.Context, _ *runtime.Invocation) (context.Context, func(*runtime.Result)) {
	m.running.Inc()
	return ctx, func(r *runtime.Result) {
		m.running.Dec()
		result := result(r)
		m.runs.WithLabelValues(result).Inc()
		m.runSeconds.WithLabelValues(result).Observe(r.Duration.Seconds())
	}
}

func result(r *runtime.Result) string {
	if r.Error != nil {
		return string(r.Error.Type)
	}
	return "ok"
}

// Interrupted counts an interrupt.
func (m *Metrics) Interrupted(lag time.Duration) { m.interrupts.Observe(lag.Seconds()) }

// Task returns events that count the invocations of a task.
func (m *Metrics) Task() task.Events {
	return task.Events{
		Started:      func(_ tenant.ID, waited time.Duration) { m.queueSeconds.Observe(waited.Seconds()) },
		Refused:      func(t runtime.ErrorType) { m.refused.WithLabelValues(string(t)).Inc() },
		Unauthorized: func(reason string) { m.unauthorized.WithLabelValues(reason).Inc() },
		Abandoned:    func(tenant.ID) { m.abandoned.Inc() },
		Returned:     func(tenant.ID) { m.abandoned.Dec() },
		Dropped:      func(_ tenant.ID, _ string, times int) { m.dropped.Add(float64(times)) },
	}
}

// Blocked counts a request to a host that a tenant may not reach.
func (m *Metrics) Blocked(tenant.ID) { m.networkBlocked.Inc() }

// ClockAhead sets how far this machine's clock is ahead of the table's.
func (m *Metrics) ClockAhead(d time.Duration) { m.clockAhead.Set(d.Seconds()) }

// Locks returns events that count attempts, acquisitions and releases of locks.
func (m *Metrics) Locks() lock.Events {
	return lock.Events{
		Attempted:         func(_ lock.Key, o outcome.Outcome) { m.lockAttempts.WithLabelValues(o.String()).Inc() },
		AmbiguityResolved: func(lock.Key) { m.resolved.Inc() },
		Acquire: func(a lock.AcquireEvent) {
			acquired := "false"
			if a.Acquired {
				acquired = "true"
			}
			m.lockWaits.WithLabelValues(a.Scope.String(), acquired).Observe(a.Waited.Seconds())
		},
		Release: func(r lock.ReleaseEvent) {
			scope := r.Scope.String()
			m.lockHolds.WithLabelValues(scope).Observe(r.Held.Seconds())
			if r.Lease > 0 {
				m.leaseUsed.WithLabelValues(scope).Observe(float64(r.Held) / float64(r.Lease))
			}
			m.lockReleases.WithLabelValues(r.Result.String()).Inc()
		},
	}
}
