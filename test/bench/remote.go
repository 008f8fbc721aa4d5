package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	remoteLocks = 4 // measured at the same time, for more samples
	remoteHold  = 50 * time.Millisecond
	remoteTime  = 60 * time.Second
	// remoteExtra is how much longer the local scripts run than the remote one, so
	// that the remote one always finds the lock contended.
	remoteExtra = 8 * time.Second
)

// localScript acquires the lock again and again.
const localScript = `return function(e)
	local n = 0
	while native.time() < e.stop do
		native.lock.turn(e.lock, { lease_ms = 10000 }, function() native.sleep(e.ms) end)
		n = n + 1
	end
	return n
end`

// remoteScript acquires the lock now and then, from another process. It returns
// how long it waited each time.
const remoteScript = `return function(e)
	math.randomseed(e.seed)
	local waits = {}
	while native.time() < e.stop do
		native.sleep(math.random() * 1000)
		local from = native.time()
		native.lock.turn(e.lock, { lease_ms = 10000 }, function()
			waits[#waits + 1] = native.time() - from
		end)
	end
	return waits
end`

// remote measures how long a caller of one process waits while the callers of
// another process hand the lock over to each other.
func remote(b *bench) error {
	const callers = 3
	all, end, err := b.startWorkers(2)
	if err != nil {
		return err
	}
	defer end()
	many, one := job{Script: localScript}, job{Script: remoteScript}
	stop := time.Now().Add(remoteTime)
	for i := range remoteLocks {
		name := fmt.Sprint("remote ", i)
		one.Events = append(one.Events, map[string]any{"lock": name, "seed": float64(i), "stop": unixSeconds(stop)})
		for range callers {
			many.Events = append(many.Events, map[string]any{
				"lock": name, "ms": milliseconds(remoteHold), "stop": unixSeconds(stop.Add(remoteExtra)),
			})
		}
	}
	var ofMany []int
	var ofOne [][]float64
	requests, err := runJobs(all, []job{many, one}, []any{&ofMany, &ofOne})
	if err != nil {
		return err
	}
	var waits []time.Duration
	for _, w := range ofOne {
		waits = append(waits, secondsToDurations(w)...)
	}
	slices.Sort(waits)
	acquisitions := len(waits)
	for _, n := range ofMany {
		acquisitions += n
	}
	took := remoteTime + remoteExtra
	b.text("%d scripts of one process acquire a db lock again and again and hold it for %v each. One script of another process acquires it now and then. "+
		"Measured on %d such locks at once.", callers, remoteHold, remoteLocks)
	b.table([]string{"wait of the other process, " + strconv.Itoa(len(waits)) + " times", "measured", "goal"}, [][]string{
		{"p50", formatDuration(percentile(waits, 50)), ""},
		{"p99", formatDuration(percentile(waits, 99)), "under 2s"},
		{"longest", formatDuration(percentile(waits, 100)), ""},
		{"requests per acquisition", strconv.FormatFloat(float64(requests)/float64(acquisitions), 'f', 2, 64), "at most 4"},
		{"the lock is held", fmt.Sprintf("%.0f%% of the time",
			100*float64(acquisitions-len(waits))*remoteHold.Seconds()/took.Seconds()/remoteLocks), ""},
	})
	return nil
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// runJobs lets each worker run its job, all at the same time, and decodes the
// results.
func runJobs(all []*worker, tasks []job, results []any) (requests int64, err error) {
	for i, w := range all {
		if err := w.start(tasks[i]); err != nil {
			return 0, err
		}
	}
	for i, w := range all {
		o, err := w.wait()
		if err != nil {
			return 0, err
		}
		requests += o.Requests
		text, err := json.Marshal(o.Results)
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal(text, results[i]); err != nil {
			return 0, err
		}
	}
	return requests, nil
}
