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

// hold is one time that a process held a lock, as the service saw it.
type hold struct {
	process int
	put     time.Time // when its put arrived
	granted time.Time // when the put was answered
	until   time.Time // of its row
	freed   time.Time // when the delete that was applied arrived; zero if the row ran out
}

// history is the history of entries that are only accessed under the locks of
// the same names, made from a proxy's record.
type history struct {
	lease         time.Duration
	holds         map[string][]*hold                    // by lock, in the order of arrival
	written       map[string]map[string]map[string]bool // revisions by entry and value
	overlaps      []string                              // requests that no lock covered
	afterLease    int                                   // requests that arrived after the lease and before the row ran out
	afterLeaseMax time.Duration                         // how late the latest of them was
	afterGuard    []string                              // requests that arrived after lease and guard
}

func historyOf(record []arrival, lease time.Duration) *history {
	h := &history{lease: lease, holds: map[string][]*hold{}, written: map[string]map[string]map[string]bool{}}
	for _, a := range record {
		switch {
		case a.partition == entries:
			h.access(a)
		case a.partition == lockRows && a.status == 200 && a.op == "PutItem":
			h.holds[a.key] = append(h.holds[a.key], &hold{process: a.process, put: a.at, granted: a.answered, until: a.until})
		case a.partition == lockRows && a.status == 200 && a.op == "DeleteItem":
			if own, _ := h.last(a); own != nil {
				own.freed = a.at
			}
		}
	}
	return h
}

// last returns the last hold of a's lock by a's process, and whether the lock was
// certainly granted to another process between that and a.
func (h *history) last(a arrival) (own *hold, lost bool) {
	for _, other := range h.holds[a.key] {
		if other.process == a.process {
			own = other
		}
	}
	for _, other := range h.holds[a.key] {
		lost = lost || own != nil && other.granted.After(own.granted) && other.granted.Before(a.at) &&
			(other.freed.IsZero() || other.freed.After(own.granted)) // not a hold that ended while its put was under way
	}
	return own, lost
}

// access checks a request for an entry.
func (h *history) access(a arrival) {
	own, lost := h.last(a)
	if own != nil && a.at.Sub(own.put) > h.lease+lock.DefaultGuard {
		h.afterGuard = append(h.afterGuard, fmt.Sprintf("%s of %s by process %d at %v under %+v", a.op, a.key, a.process, a.at, own))
	}
	// A read that the end of its lease has cut off may still arrive after the delete,
	// which goes over another connection. It changes nothing, and its response goes
	// nowhere.
	cutOff := a.op == "GetItem" && !lost
	switch {
	case own == nil || lost || !own.freed.IsZero() && !cutOff || a.at.After(own.until):
		h.overlaps = append(h.overlaps, fmt.Sprintf("%s of %s by process %d at %v under %+v (another's since: %v)",
			a.op, a.key, a.process, a.at, own, lost))
	case a.at.Sub(own.put) > h.lease:
		h.afterLease++
		h.afterLeaseMax = max(h.afterLeaseMax, a.at.Sub(own.put)-h.lease)
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

// check fails the test for each request that no lock covered and each lost
// update: each of the numbers 1, 2, 3... has to be written once.
func (h *history) check(t *testing.T, sums map[string]int) {
	t.Helper()
	for _, text := range h.overlaps {
		t.Errorf("overlap: %s", text)
	}
	for key, values := range h.written {
		if len(values) != sums[key] {
			t.Errorf("%s: got a sum of %d, want %d, the number of writes", key, sums[key], len(values))
		}
		for n := range values {
			if revs := len(values[n]); revs != 1 {
				t.Errorf("%s: %s was written by %d updates", key, n, revs)
			}
		}
	}
}

// grants counts how often a lock was granted, and how often after the row of the
// previous holder had run out. gap is the longest time between two grants of one
// lock.
func (h *history) grants() (all, afterRunOut int, gap time.Duration) {
	for _, holds := range h.holds {
		slices.SortFunc(holds, func(a, b *hold) int { return a.granted.Compare(b.granted) })
		all += len(holds)
		for i, own := range holds[1:] {
			if holds[i].freed.IsZero() {
				afterRunOut++
			}
			gap = max(gap, own.put.Sub(holds[i].put))
		}
	}
	return all, afterRunOut, gap
}

// milliseconds parses a time of the table. "" is the zero time.
func milliseconds(number string) time.Time {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
