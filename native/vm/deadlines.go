package vm

import (
	"math"
	"time"
)

// never is a deadline that doesn't come.
const never = time.Duration(math.MaxInt64)

// deadline is a moment of ElapsedMax at which a frame is interrupted.
type deadline struct {
	at      time.Duration // its own
	nearest time.Duration // the soonest of its own and those around it
	inDoubt bool          // a write below this frame has no known outcome
}

// deadlines is the stack of the deadlines that are open in a run: its own at the
// bottom, then one for each native.deadline.with and each lease.
type deadlines []deadline

// push opens a deadline. An inner one never extends an outer one.
func (d *deadlines) push(at time.Duration) {
	nearest := at
	if len(*d) > 0 {
		nearest = min(at, d.nearest())
	}
	*d = append(*d, deadline{at: at, nearest: nearest})
}

// pop closes the innermost deadline.
func (d *deadlines) pop() deadline {
	last := len(*d) - 1
	innermost := (*d)[last]
	*d = (*d)[:last]
	return innermost
}

// nearest is the soonest of all that are open.
func (d deadlines) nearest() time.Duration { return d[len(d)-1].nearest }

// end makes the deadline of an index pass now.
func (d deadlines) end(index int, now time.Duration) {
	d[index].at = min(d[index].at, now)
	for i := index; i < len(d); i++ {
		d[i].nearest = min(d[i].nearest, now)
	}
}

// outermostPassed returns the index of the outermost deadline that has passed by
// now. One must have.
func (d deadlines) outermostPassed(now time.Duration) int {
	for i := range d {
		if now >= d[i].at {
			return i
		}
	}
	panic("no deadline has passed")
}

// Remaining is the time until the nearest deadline, never below 0; ok is false
// if there is none.
func (r *Run) Remaining() (d time.Duration, ok bool) {
	nearest := r.deadlines.nearest()
	if nearest == never {
		return 0, false
	}
	return max(nearest-r.clock.ElapsedMax(), 0), true
}

// MarkInDoubt records that a write went out whose outcome isn't known. Every frame
// that is open now has it in its [CallResult].
func (r *Run) MarkInDoubt() {
	for i := range r.deadlines {
		r.deadlines[i].inDoubt = true
	}
}
