package schedule

import "time"

// decision says what happens to the due times after the cursor.
type decision struct {
	// run is the due time to run, zero for none.
	run time.Time
	// last is the due time up to which all are decided then, zero if none is.
	last time.Time
	// dropped is how many of those are not run, for reason.
	dropped int
	reason  string
}

const (
	// onTime is how late a due time may be run and still not be missed.
	onTime = time.Minute
	// waitingMax is how many due times may wait, and how many are counted.
	waitingMax = 1000
)

// Reasons to drop due times.
const (
	reasonMissed  = "missed"
	reasonOverlap = "overlap"
	reasonFull    = "too many wait"
)

// decide says which due time is run next, given that no run goes on. The
// decision is zero if none is due.
func (s Schedule) decide(r recurrence, c cursor, now time.Time) decision {
	due := dueTimes(r, c.last, now)
	if len(due) == 0 {
		return decision{}
	}
	newest := due[len(due)-1]
	if s.Overlap == OverlapQueue && len(due) <= waitingMax {
		if !due[0].After(c.busy) || now.Sub(due[0]) <= onTime {
			return decision{run: due[0], last: due[0]}
		}
		// Those that were missed come first; what is on time follows.
		for len(due) > 1 && now.Sub(due[len(due)-1]) <= onTime {
			due = due[:len(due)-1]
		}
		newest = due[len(due)-1]
	}
	d := decision{run: newest, last: newest, dropped: len(due) - 1, reason: reasonMissed}
	switch {
	case s.Overlap == OverlapQueue && len(due) > waitingMax:
		d.reason = reasonFull
	case s.Missed == MissedSkip && now.Sub(newest) > onTime:
		d.run = time.Time{}
		d.dropped++
	}
	return d
}

// decideOverlap says what happens to due times while a run of an earlier one
// goes on: nothing, if they queue.
func (s Schedule) decideOverlap(r recurrence, c cursor, now time.Time) decision {
	due := dueTimes(r, c.last, now)
	if s.Overlap == OverlapQueue || len(due) == 0 {
		return decision{}
	}
	return decision{last: due[len(due)-1], dropped: len(due), reason: reasonOverlap}
}

// dueTimes are the due times after last, up to now. If there are more than
// waitingMax, they are the first so many and the newest.
func dueTimes(r recurrence, last, now time.Time) (due []time.Time) {
	for t := r.next(last); !t.IsZero() && !t.After(now); t = r.next(t) {
		if len(due) == waitingMax {
			return append(due, newestDue(r, t, now))
		}
		due = append(due, t)
	}
	return due
}

// newestDue is the newest due time up to now; known is one of them.
func newestDue(r recurrence, known, now time.Time) time.Time {
	newest := known
	for back := time.Hour; ; back *= 24 {
		from := now.Add(-back)
		if from.Before(known) {
			from = known.Add(-1)
		}
		if t := r.next(from); !t.IsZero() && !t.After(now) {
			for ; !t.IsZero() && !t.After(now); t = r.next(t) {
				newest = t
			}
			return newest
		}
		if back > 400*24*time.Hour {
			return newest
		}
	}
}
