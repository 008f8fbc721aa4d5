package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
)

const (
	lockRows = "dev/!locks"
	entries  = "dev/counters" // what the locks of the same names guard
)

// holding is one time that a process has had a lock, as the service saw it.
type holding struct {
	process int
	put     time.Time // when its put arrived
	granted time.Time // when that was answered
	until   time.Time // of its row
	freed   time.Time // when the delete arrived that was done; zero if the row ran out
}

// history is what a proxy's record says of entries that are only touched under
// the locks of their names.
type history struct {
	lease    time.Duration
	holdings map[string][]*holding                 // by lock, in the order of arrival
	written  map[string]map[string]map[string]bool // revisions by entry and value
	overlaps []string                              // requests that no lock covered
	late     int                                   // requests that arrived when the lease was over, and the row was not
	lag      time.Duration                         // the most that one of them was late by
	beyond   []string                              // requests that arrived when lease and guard were over
}

func historyOf(record []arrival, lease time.Duration) *history {
	h := &history{lease: lease, holdings: map[string][]*holding{}, written: map[string]map[string]map[string]bool{}}
	for _, a := range record {
		switch {
		case a.partition == entries:
			h.touch(a)
		case a.partition == lockRows && a.status == 200 && a.op == "PutItem":
			h.holdings[a.key] = append(h.holdings[a.key], &holding{process: a.process, put: a.at, granted: a.answered, until: a.until})
		case a.partition == lockRows && a.status == 200 && a.op == "DeleteItem":
			if own, _ := h.last(a); own != nil {
				own.freed = a.at
			}
		}
	}
	return h
}

// last finds the last time that a's process was given a's lock, and whether
// another one was given it since, for certain before a arrived.
func (h *history) last(a arrival) (own *holding, lost bool) {
	for _, other := range h.holdings[a.key] {
		if other.process == a.process {
			own = other
		}
	}
	for _, other := range h.holdings[a.key] {
		lost = lost || own != nil && other.granted.After(own.granted) && other.granted.Before(a.at) &&
			(other.freed.IsZero() || other.freed.After(own.granted)) // not one that was given up while it was asked for
	}
	return own, lost
}

// touch judges a request for a guarded entry.
func (h *history) touch(a arrival) {
	own, lost := h.last(a)
	if own != nil && a.at.Sub(own.put) > h.lease+lock.DefaultGuard {
		h.beyond = append(h.beyond, fmt.Sprintf("%s of %s by process %d at %v under %+v", a.op, a.key, a.process, a.at, own))
	}
	switch {
	case own == nil || lost || !own.freed.IsZero() || a.at.After(own.until):
		h.overlaps = append(h.overlaps, fmt.Sprintf("%s of %s by process %d at %v under %+v (another's since: %v)",
			a.op, a.key, a.process, a.at, own, lost))
	case a.at.Sub(own.put) > h.lease:
		h.late++
		h.lag = max(h.lag, a.at.Sub(own.put)-h.lease)
	}
	if a.op != "PutItem" || a.status != 200 {
		return
	}
	if h.written[a.key] == nil {
		h.written[a.key] = map[string]map[string]bool{}
	}
	if h.written[a.key][a.value] == nil {
		h.written[a.key][a.value] = map[string]bool{}
	}
	h.written[a.key][a.value][a.rev] = true
}

// check fails the test for each request that no lock covered and each update
// that was lost: of the numbers 1, 2, 3... each has to be written once.
func (h *history) check(t *testing.T, sums map[string]int) {
	t.Helper()
	for _, text := range h.overlaps {
		t.Errorf("overlap: %s", text)
	}
	for key, values := range h.written {
		if len(values) != sums[key] {
			t.Errorf("%s: got a sum of %d, want %d: as many as were written", key, sums[key], len(values))
		}
		for n := range values {
			if revs := len(values[n]); revs != 1 {
				t.Errorf("%s: %s was written by %d updates", key, n, revs)
			}
		}
	}
}

// grants counts how often a lock was given to somebody, and how often after
// its holder before had let it run out. gap is the longest time between two
// grants of one lock.
func (h *history) grants() (all, afterRunOut int, gap time.Duration) {
	for _, holdings := range h.holdings {
		slices.SortFunc(holdings, func(a, b *holding) int { return a.granted.Compare(b.granted) })
		all += len(holdings)
		for i, own := range holdings[1:] {
			if holdings[i].freed.IsZero() {
				afterRunOut++
			}
			gap = max(gap, own.put.Sub(holdings[i].put))
		}
	}
	return all, afterRunOut, gap
}

// milliseconds reads a time of the table; "" is the zero time.
func milliseconds(number string) time.Time {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
