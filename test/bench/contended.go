package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	contendedWaiters = 50
	contendedRounds  = 20
	contendedHold    = 5 * time.Millisecond
)

// holdScript waits for its turn, holds the lock for a while and returns when.
const holdScript = `return function(e)
	local from, to
	native.lock.turn(e.lock, { lease_ms = 10000 }, function()
		from = native.time()
		native.sleep(e.ms)
		to = native.time()
	end)
	return { from, to }
end`

// hold is one time that the lock was held, in seconds since 1970.
type hold struct {
	process  int
	from, to float64
}

// contended lets waiters of one, five and ten processes wait for one lock at
// once. It counts the requests of each and measures how fast the lock is handed
// over.
func contended(b *bench) error {
	b.text("%d scripts ask for one db lock at the same time and hold it for %v each, %d times over. "+
		"A delay is from the last instruction of one holder to the first of the next.",
		contendedWaiters, contendedHold, contendedRounds)
	var rows [][]string
	for _, processes := range []int{1, 5, 10} {
		row, err := b.contend(processes)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	b.table([]string{"processes", "requests per acquisition", "goal", "delay within a process p50", "p99",
		"across processes p50", "p99"}, rows)
	return nil
}

func (b *bench) contend(processes int) (row []string, err error) {
	all, end, err := b.startWorkers(processes)
	if err != nil {
		return nil, err
	}
	defer end()
	events := make([]map[string]any, contendedWaiters/processes)
	for i := range events {
		events[i] = map[string]any{"lock": "contended", "ms": milliseconds(contendedHold)}
	}
	var requests int64
	var within, across []time.Duration
	for range contendedRounds {
		var holds []hold
		for _, w := range all {
			if err := w.start(job{holdScript, events}); err != nil {
				return nil, err
			}
		}
		for i, w := range all {
			o, err := w.wait()
			if err != nil {
				return nil, err
			}
			requests += o.Requests
			for _, r := range o.Results {
				h := hold{process: i}
				if err := json.Unmarshal(r, &[]any{&h.from, &h.to}); err != nil {
					return nil, err
				}
				holds = append(holds, h)
			}
		}
		slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
		for i, next := range holds[1:] {
			delay := time.Duration((next.from - holds[i].to) * float64(time.Second))
			switch {
			case delay < 0:
				return nil, fmt.Errorf("two held the lock at once: %v and %v", holds[i], next)
			case holds[i].process == next.process:
				within = append(within, delay)
			default:
				across = append(across, delay)
			}
		}
	}
	slices.Sort(within)
	slices.Sort(across)
	row = []string{
		fmt.Sprintf("%d of %d waiters", processes, len(events)),
		strconv.FormatFloat(float64(requests)/(contendedRounds*contendedWaiters), 'f', 2, 64), "at most 4",
		formatDuration(percentile(within, 50)), formatDuration(percentile(within, 99)), "", "",
	}
	if len(across) > 0 {
		row[5], row[6] = formatDuration(percentile(across, 50)), formatDuration(percentile(across, 99))
	}
	return row, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
