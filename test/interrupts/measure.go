package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// measurement is the lags of a row, by call context.
type measurement struct {
	row
	lags map[string][]time.Duration
}

// busyScript never ends.
const busyScript = `local t = {} while true do t = { t[1], 1 } end`

// measure measures rows one after the other, beside a busy script of another
// tenant.
func measure(rows []row, rounds int) (p *page, err error) {
	h, err := newFixture(nil)
	if err != nil {
		return nil, err
	}
	if h.stalls, err = startStallWatcher(); err != nil {
		return nil, err
	}
	defer h.stalls.stop()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go h.run(ctx, "busy", busyScript)
	p = &page{rounds: rounds, processors: runtime.NumCPU()}
	realTime := scale{rounds: rounds, deadline: 20, lead: 0.02, kilo: 1e3, mega: 1e6}
	var failures []error
	for i, r := range rows {
		fmt.Fprintf(os.Stderr, "\r%d of %d ", i+1, len(rows))
		h.lags = map[string][]time.Duration{}
		h.late.Store(0)
		h.repeatsLeft = len(callContexts) * rounds / 2
		result := h.run(ctx, observed, r.source(realTime))
		var wrong []string
		if result.Error != nil {
			wrong = []string{result.Error.Error()}
		} else if err := json.Unmarshal(result.JSON, &wrong); err != nil {
			return nil, err
		}
		if n := h.late.Load(); n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d calls or requests began after the deadline", n))
		}
		for _, text := range wrong {
			failures = append(failures, fmt.Errorf("%s, %s: %s", r.name, r.text(), text))
		}
		p.table = append(p.table, measurement{r, h.lags})
	}
	fmt.Fprintln(os.Stderr)
	p.repeated, p.disturbed = h.repeated, h.disturbed
	return p, errors.Join(failures...)
}
