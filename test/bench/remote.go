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
	// remoteMore is how much longer the many go on, so that the one never waits
	// for a lock that nobody wants.
	remoteMore = 8 * time.Second
)

// manyScript is one of those who want the lock without end.
const manyScript = `return function(e)
	local n = 0
	while native.time() < e.stop do
		native.lock.turn(e.lock, { lease_ms = 10000 }, function() native.sleep(e.ms) end)
		n = n + 1
	end
	return n
end`

// oneScript is the one that waits in another process, now and then.
const oneScript = `return function(e)
	math.randomseed(e.seed)
	local waits = {}
	while native.time() < e.stop do
		native.sleep(math.random() * 1000)
		local asked = native.time()
		native.lock.turn(e.lock, { lease_ms = 10000 }, function()
			waits[#waits + 1] = native.time() - asked
		end)
	end
	return waits
end`

// remote measures how long one waiter of one process waits while the callers of
// another hand the lock on to each other.
func remote(b *bench) error {
	const callers = 3
	all, end, err := b.startWorkers(2)
	if err != nil {
		return err
	}
	defer end()
	many, one := task{Script: manyScript}, task{Script: oneScript}
	stop := time.Now().Add(remoteTime)
	for i := range remoteLocks {
		name := fmt.Sprint("remote ", i)
		one.Events = append(one.Events, map[string]any{"lock": name, "seed": float64(i), "stop": inSeconds(stop)})
		for range callers {
			many.Events = append(many.Events, map[string]any{
				"lock": name, "ms": inMillis(remoteHold), "stop": inSeconds(stop.Add(remoteMore)),
			})
		}
	}
	var ofMany []int
	var ofOne [][]float64
	requests, err := bothDo(all, []task{many, one}, []any{&ofMany, &ofOne})
	if err != nil {
		return err
	}
	var waits []time.Duration
	for _, w := range ofOne {
		waits = append(waits, seconds(w)...)
	}
	slices.Sort(waits)
	acquisitions := len(waits)
	for _, n := range ofMany {
		acquisitions += n
	}
	took := remoteTime + remoteMore
	b.text("%d scripts of one process want a db lock without end and hold it for %v each; one of another process asks for it now and then. "+
		"Measured on %d such locks at once.", callers, remoteHold, remoteLocks)
	b.table([]string{"the one's wait, of " + strconv.Itoa(len(waits)), "seen", "goal"}, [][]string{
		{"p50", short(percentile(waits, 50)), ""},
		{"p99", short(percentile(waits, 99)), "under 2s"},
		{"longest", short(percentile(waits, 100)), ""},
		{"requests per acquisition", strconv.FormatFloat(float64(requests)/float64(acquisitions), 'f', 2, 64), "at most 4"},
		{"the lock is held", fmt.Sprintf("%.0f%% of the time",
			100*float64(acquisitions-len(waits))*remoteHold.Seconds()/took.Seconds()/remoteLocks), ""},
	})
	return nil
}

func inSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// bothDo lets each worker do its task, at the same time, and reads the results.
func bothDo(all []*worker, tasks []task, results []any) (requests int64, err error) {
	for i, w := range all {
		if err := w.begin(tasks[i]); err != nil {
			return 0, err
		}
	}
	for i, w := range all {
		o, err := w.end()
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
