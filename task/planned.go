package task

import "time"

// decision is what to do about the planned times between the last one decided
// and now.
type decision struct {
	// begin is the planned time to run; zero for none.
	begin time.Time
	// last is the planned time up to which all are decided then.
	last time.Time
	// dropped is how many of those are not run, why says the reason.
	dropped int
	why     string
}

const (
	// onTime is how late a planned time may be run and still not be missed.
	onTime = time.Minute
	// plannedMax is how many planned times may wait, and how many are counted.
	plannedMax = 1000
)

// Reasons to drop planned times.
const (
	wasMissed  = "missed"
	wasOverlap = "overlap"
	wasFull    = "too many wait"
)

// decide says which planned time is the next to begin, given that the lock can
// be had. The decision is empty if none is due.
func (s Schedule) decide(p plan, was progress, now time.Time) decision {
	due := dueTimes(p, was.last, now)
	if len(due) == 0 {
		return decision{}
	}
	newest := due[len(due)-1]
	if s.Overlap == OverlapQueue && len(due) <= plannedMax {
		if !due[0].After(was.busy) || now.Sub(due[0]) <= onTime {
			return decision{begin: due[0], last: due[0]}
		}
		// Those that were missed come first; what is on time follows.
		for len(due) > 1 && now.Sub(due[len(due)-1]) <= onTime {
			due = due[:len(due)-1]
		}
		newest = due[len(due)-1]
	}
	d := decision{begin: newest, last: newest, dropped: len(due) - 1, why: wasMissed}
	switch {
	case s.Overlap == OverlapQueue && len(due) > plannedMax:
		d.why = wasFull
	case s.Missed == MissedSkip && now.Sub(newest) > onTime:
		d.begin = time.Time{}
		d.dropped++
	}
	return d
}

// overlapped says what to do while a run of an earlier planned time goes on:
// nothing, if they queue.
func (s Schedule) overlapped(p plan, was progress, now time.Time) decision {
	due := dueTimes(p, was.last, now)
	if s.Overlap == OverlapQueue || len(due) == 0 {
		return decision{}
	}
	return decision{last: due[len(due)-1], dropped: len(due), why: wasOverlap}
}

// dueTimes are the planned times after last up to now: if there are more than
// plannedMax, only the first so many and the newest.
func dueTimes(p plan, last, now time.Time) (due []time.Time) {
	for t := p.next(last); !t.IsZero() && !t.After(now); t = p.next(t) {
		if len(due) == plannedMax {
			return append(due, newestBefore(p, t, now))
		}
		due = append(due, t)
	}
	return due
}

// newestBefore is the newest planned time up to now, of which some is one.
func newestBefore(p plan, some, now time.Time) time.Time {
	newest := some
	for back := time.Hour; ; back *= 24 {
		from := now.Add(-back)
		if from.Before(some) {
			from = some.Add(-1)
		}
		if t := p.next(from); !t.IsZero() && !t.After(now) {
			for ; !t.IsZero() && !t.After(now); t = p.next(t) {
				newest = t
			}
			return newest
		}
		if back > 400*24*time.Hour {
			return newest
		}
	}
}
