package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

// loadScripts is the number of busy scripts that run at once.
const loadScripts = 32

// loadResult is what was measured under load, with a number of processors.
type loadResult struct {
	processors int
	// lags are those of the busy scripts' own deadlines.
	lags []time.Duration
	// How long a short script of a quiet tenant takes: alone, beside busy
	// scripts of one tenant, and beside busy scripts of as many tenants.
	alone, one, many []time.Duration
}

const (
	// deadlineLoop runs into one deadline after another.
	deadlineLoop = `while true do
		pcall(native.deadline.with, 20, function() native.probe.mark() while true do end end)
		native.probe.lag()
	end`
	shortScript = `local s = 0 for i = 1, 20000 do s = s + i end return s`
	shortRounds = 300
	shortTime   = 20 * time.Second // ends the rounds on a slow machine
)

// measureLoad measures under load on one processor and on two.
func measureLoad() (results []loadResult, err error) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	watcher, err := startStallWatcher()
	if err != nil {
		return nil, err
	}
	defer watcher.stop()
	for n := 1; n <= min(2, runtime.NumCPU()); n++ {
		runtime.GOMAXPROCS(n)
		f, err := newFixture(nil)
		if err != nil {
			return nil, err
		}
		r := loadResult{processors: n, alone: f.shortRuns(watcher)}
		f.underLoad(func(int) tenant.ID { return "load" }, busyScript, func() { r.one = f.shortRuns(watcher) })
		f.underLoad(func(i int) tenant.ID { return tenant.ID(fmt.Sprint("load", i)) }, deadlineLoop, func() { r.many = f.shortRuns(watcher) })
		r.lags = watcher.undisturbed(f.marked)
		f.close()
		results = append(results, r)
	}
	return results, nil
}

// underLoad calls do while loadScripts runs of source are under way.
func (f *fixture) underLoad(tenantOf func(int) tenant.ID, source string, do func()) {
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	for i := range loadScripts {
		runs.Go(func() { f.run(ctx, tenantOf(i), source) })
	}
	do()
	stop()
	runs.Wait()
}

// shortRuns times runs of a short script of a quiet tenant, at most shortRounds
// of them.
func (f *fixture) shortRuns(watcher *stallWatcher) []time.Duration {
	var times []timed
	for first := time.Now(); len(times) < shortRounds && time.Since(first) < shortTime; {
		began := time.Now()
		f.run(context.Background(), "quiet", shortScript)
		times = append(times, timed{from: began, to: time.Now()})
	}
	_ = watcher.total() // waits until the watcher has recorded all stalls up to now
	return watcher.undisturbed(times)
}

// quantile returns the q-quantile of times, 0 if there are none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
