package vm

import (
	"fmt"
	"math"
	"time"
)

// Limit names what can end a run or a frame of it.
type Limit string

// The limits that a kill token names.
const (
	Deadline     Limit = "deadline"     // an end of the stack: deadline, lease, or the run's own timeout
	Instructions Limit = "instructions" // steps used up
	Memory       Limit = "memory"       // held at once
	// ProcessMemory: what all runs hold together; this one was the largest.
	ProcessMemory Limit = "memory of the process"
	Coroutine     Limit = "coroutines" // too many alive
	Cancelled     Limit = "cancelled"  // the host's context is done
	Closed        Limit = "closed"     // the run is over, or a coroutine nobody can reach is unwound
)

// Kill is the token of an interrupt: which limit has fired, and whose frame
// owns it.
type Kill struct {
	Limit Limit
	// Value is the limit's value in its own unit, 0 where it has none.
	Value int64
	// Cause is the reason of a cancellation.
	Cause error
	owner int // index in the stack of ends; 0 is the run itself
}

// DeadlineExceeded is the whole text of the error that an owner of an end
// raises, without a position.
const DeadlineExceeded = "deadline exceeded"

// Error is the text that Lua code would see while the interrupt unwinds it; no
// script can catch it before the owner's frame.
func (k *Kill) Error() string {
	switch k.Limit {
	case Deadline:
		return DeadlineExceeded
	case Cancelled:
		return "cancelled"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("limit exceeded: %s (%d)", k.Limit, k.Value)
}

// noEnd is a moment that never comes.
const noEnd = time.Duration(math.MaxInt64)

// end is a moment on the fast hand at which a frame is interrupted.
type end struct {
	at      time.Duration // its own
	nearest time.Duration // the soonest of its own and those around it
	// unsettled: a write below this frame went out whose outcome isn't known.
	unsettled bool
}

// push opens an end. An inner one never extends an outer one.
func (r *Run) push(at time.Duration) {
	r.ends = append(r.ends, end{at: at, nearest: min(at, r.ends[len(r.ends)-1].nearest)})
}

// pop closes the innermost end and takes the kill token off if it owns it. It
// returns the end, and whether the frame has ended: its own time has passed
// and nothing around it has.
func (r *Run) pop() (top end, ended bool) {
	last := len(r.ends) - 1
	top = r.ends[last]
	now := r.hands.Fast()
	if r.kill == nil || r.kill.Limit == Deadline {
		// Read once more: a function that returned after its lease had ended
		// has ended too, and an end around this one may have passed meanwhile.
		r.kill = nil
		r.check(now)
	}
	r.ends = r.ends[:last]
	if k := r.kill; k != nil && k.Limit == Deadline && k.owner == last {
		r.kill = nil
		r.countSteps()
		if r.interrupted != nil {
			r.interrupted(now - top.at)
		}
		return top, true
	}
	return top, false
}

// passed returns the token of the outermost end that has passed by now.
func (r *Run) passed(now time.Duration) *Kill {
	for i, e := range r.ends {
		if now >= e.at {
			k := &Kill{Limit: Deadline, owner: i}
			if i == 0 {
				k.Value = r.limits.Timeout.Milliseconds()
			}
			return k
		}
	}
	return nil
}

// Remaining is the time until the nearest end, never below 0; ok is false if
// there is none.
func (r *Run) Remaining() (d time.Duration, ok bool) {
	nearest := r.ends[len(r.ends)-1].nearest
	if nearest == noEnd {
		return 0, false
	}
	return max(nearest-r.hands.Fast(), 0), true
}

// Killed returns the token that ended the run, nil if none did.
func (r *Run) Killed() *Kill { return r.kill }

// Unsettled records that a write went out whose outcome isn't known: every
// frame that is open now is told when it ends.
func (r *Run) Unsettled() {
	for i := range r.ends {
		r.ends[i].unsettled = true
	}
}
