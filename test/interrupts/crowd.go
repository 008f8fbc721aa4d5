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

// crowd is how many busy scripts run at once.
const crowd = 32

// crowding is what was measured beside a crowd.
type crowding struct {
	processors int
	// lags are those of the crowd's own deadlines.
	lags []time.Duration
	// How long a short script of a quiet tenant takes: alone, beside a crowd
	// of one tenant, and beside one of as many tenants.
	alone, one, many []time.Duration
}

const (
	// spins runs into one deadline after the other.
	spins = `while true do
		pcall(native.deadline.with, 20, function() native.probe.mark() while true do end end)
		native.probe.lag()
	end`
	short       = `local s = 0 for i = 1, 20000 do s = s + i end return s`
	shortRounds = 300
	shortTime   = 20 * time.Second // ends the rounds on a machine that is too slow
)

// crowded measures crowds on one processor and on two.
func crowded() (all []crowding, err error) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	watched, err := startWatcher()
	if err != nil {
		return nil, err
	}
	defer watched.stop()
	for n := 1; n <= min(2, runtime.NumCPU()); n++ {
		runtime.GOMAXPROCS(n)
		h, err := newHouse(nil)
		if err != nil {
			return nil, err
		}
		c := crowding{processors: n, alone: h.shortRuns(watched)}
		h.beside(func(int) tenant.ID { return "crowd" }, busy, func() { c.one = h.shortRuns(watched) })
		h.beside(func(i int) tenant.ID { return tenant.ID(fmt.Sprint("crowd", i)) }, spins, func() { c.many = h.shortRuns(watched) })
		c.lags = watched.undisturbed(h.marked)
		h.close()
		all = append(all, c)
	}
	return all, nil
}

// beside calls do while the crowd runs a script.
func (h *house) beside(who func(int) tenant.ID, source string, do func()) {
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	for i := range crowd {
		runs.Go(func() { h.run(ctx, who(i), source) })
	}
	do()
	stop()
	runs.Wait()
}

// shortRuns runs a short script of a quiet tenant again and again, shortRounds
// times at most.
func (h *house) shortRuns(watched *stalls) []time.Duration {
	var times []timed
	for first := time.Now(); len(times) < shortRounds && time.Since(first) < shortTime; {
		began := time.Now()
		h.run(context.Background(), "quiet", short)
		times = append(times, timed{from: began, to: time.Now()})
	}
	_ = watched.total() // until now
	return watched.undisturbed(times)
}

// quantile returns the smallest of the times that a part q of all is not above.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
