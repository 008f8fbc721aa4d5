package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidelock-lua/tidelock/task/api"
)

// Ready adds metrics of whether a host is ready, and for which reason it isn't.
func (m *Metrics) Ready(problems func() []api.Problem) {
	m.registry.MustRegister(readiness(problems))
}

// checks are the values of [api.Problem.Check].
var checks = []string{"file", "stopping", "table"}

var (
	readyDesc    = prometheus.NewDesc(namespace+"_ready", "1 if the host should be sent invocations, else 0.", nil, nil)
	problemsDesc = prometheus.NewDesc(namespace+"_not_ready", "1 if this check keeps the host from being ready, else 0.", []string{"check"}, nil)
)

// readiness collects the state of /readyz at the moment of the scrape.
type readiness func() []api.Problem

// Describe implements [prometheus.Collector].
func (r readiness) Describe(out chan<- *prometheus.Desc) {
	out <- readyDesc
	out <- problemsDesc
}

// Collect implements [prometheus.Collector].
func (r readiness) Collect(out chan<- prometheus.Metric) {
	all, found := r(), map[string]float64{}
	ready := 1.0
	for _, p := range all {
		ready, found[p.Check] = 0, 1
	}
	out <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready)
	for _, check := range checks {
		out <- prometheus.MustNewConstMetric(problemsDesc, prometheus.GaugeValue, found[check], check)
	}
}
