package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/cmd/internal/spans"
	"github.com/tidelock-lua/tidelock/cmd/internal/telemetry"
	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// flushTime bounds how long the end of a program waits for its last spans to
// be sent.
const flushTime = 2 * time.Second

// newTraceObservers returns observers that send spans to the configured
// collector, if there is one. done sends what is left.
func newTraceObservers(ctx context.Context, c *config.Config, log *zap.Logger) (w wire.Observers, done func(), err error) {
	return newObservers(ctx, c, log, nil)
}

// newObservers is [newTraceObservers] with metrics; a nil m counts nothing.
func newObservers(ctx context.Context, c *config.Config, log *zap.Logger, m *telemetry.Metrics) (w wire.Observers, done func(), err error) {
	done = func() {}
	if m != nil {
		w.Locks, w.ClockAhead, w.Blocked = []lock.Events{m.Locks()}, m.ClockAhead, m.Blocked
	}
	var t *spans.Traces
	if c.Trace.Endpoint != "" {
		if t, err = telemetry.OpenTraces(c.Trace.Endpoint, log); err != nil {
			return w, done, err
		}
		w.Locks = append(w.Locks, t.Locks())
		done = func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
			defer cancel()
			if err := t.Close(ctx); err != nil {
				log.Warn("not all spans were sent", zap.Error(err))
			}
		}
	}
	w.Runs = telemetry.Observer(m, t)
	return w, done, nil
}
