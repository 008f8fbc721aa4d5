package telemetry

import "github.com/prometheus/client_golang/prometheus"

// renamed is a counter that also counts under its old name, so that dashboards
// and alerts which use that still work.
type renamed struct {
	prometheus.Counter
	old prometheus.Counter
}

func newRenamed(name, old, help string) renamed {
	return renamed{
		prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}),
		prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: old, Help: "Deprecated: use " + namespace + "_" + name + "."}),
	}
}

// Inc adds 1.
func (r renamed) Inc() { r.Add(1) }

// Add adds v, which is 0 or more.
func (r renamed) Add(v float64) {
	r.Counter.Add(v)
	r.old.Add(v)
}
