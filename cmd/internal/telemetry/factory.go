package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tidelock-lua/tidelock/cmd/internal/build"
)

// namespace is the prefix of all names.
const namespace = "tidelock"

// seconds are the buckets of durations, from half a millisecond to an hour.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600}

// factory makes registered metrics.
type factory struct{ promauto.Factory }

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func (f factory) counter(name, help string) prometheus.Counter {
	return f.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	return f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// histogram makes a histogram of durations.
func (f factory) histogram(name, help string) prometheus.Histogram {
	return f.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: seconds})
}

// buildInfo makes the metric that has the version of the program.
func (f factory) buildInfo() {
	f.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1; its labels tell which build of the program runs.",
		ConstLabels: prometheus.Labels{"version": build.Version(), "revision": build.Revision(), "goversion": runtime.Version()},
	}).Set(1)
}

// renamed makes a counter that also counts under its old name, so that
// dashboards and alerts which use that still work.
func (f factory) renamed(name, old, help string) prometheus.Counter {
	return renamed{f.counter(name, help), f.counter(old, "Deprecated: use "+namespace+"_"+name+".")}
}

// renamed is a counter with its old name.
type renamed struct {
	prometheus.Counter
	old prometheus.Counter
}

// Inc adds 1.
func (r renamed) Inc() { r.Add(1) }

// Add adds v, which is 0 or more.
func (r renamed) Add(v float64) {
	r.Counter.Add(v)
	r.old.Add(v)
}
