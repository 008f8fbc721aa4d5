package vm

import (
	"fmt"
	"math"
	"time"
)

// Cause names what can end a run or a frame of it.
type Cause string

// The limits that a kill token names.
const (
	Deadline     Cause = "deadline"     // an end of the stack: deadline, lease, or the run's own timeout
	Instructions Cause = "instructions" // steps used up
	Memory       Cause = "memory"       // held at once
	// ProcessMemory: what all runs hold together; this one was the largest.
	ProcessMemory Cause = "memory of the process"
	Coroutine     Cause = "coroutines" // too many alive
	Cancelled     Cause = "cancelled"  // the host's context is done
	Closed        Cause = "closed"     // the run is over, or a coroutine nobody can reach is unwound
)

// Interrupt is the token of an interrupt: which limit has fired, and whose frame
// owns it.
type Interrupt struct {
	Cause Cause
	// Value is the limit's value in its own unit, 0 where it has none.
	Value int64
	// Reason is the reason of a cancellation.
	Reason error
	owner  int // index in the stack of ends; 0 is the run itself
}

// DeadlineExceeded is the whole text of the error that an owner of an end
// raises, without a position.
const DeadlineExceeded = "deadline exceeded"

// Error is the text that Lua code would see while the interrupt unwinds it; no
// script can catch it before the owner's frame.
func (k *Interrupt) Error() string {
	switch k.Cause {
	case Deadline:
		return DeadlineExceeded
	case Cancelled:
		return "cancelled"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("limit exceeded: %s (%d)", k.Cause, k.Value)
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
	now := r.clock.ElapsedMax()
	if r.kill == nil || r.kill.Cause == Deadline {
		// Read once more: a function that returned after its lease had ended
		// has ended too, and an end around this one may have passed meanwhile.
		r.kill = nil
		r.check(now)
	}
	r.ends = r.ends[:last]
	if k := r.kill; k != nil && k.Cause == Deadline && k.owner == last {
		r.kill = nil
		r.countSteps()
		if r.onInterrupt != nil {
			r.onInterrupt(now - top.at)
		}
		return top, true
	}
	return top, false
}

// passed returns the token of the outermost end that has passed by now.
func (r *Run) passed(now time.Duration) *Interrupt {
	for i, e := range r.ends {
		if now >= e.at {
			k := &Interrupt{Cause: Deadline, owner: i}
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
	return max(nearest-r.clock.ElapsedMax(), 0), true
}

// Interrupt returns the token that ended the run, nil if none did.
func (r *Run) Interrupt() *Interrupt { return r.kill }

// MarkInDoubt records that a write went out whose outcome isn't known: every
// frame that is open now is told when it ends.
func (r *Run) MarkInDoubt() {
	for i := range r.ends {
		r.ends[i].unsettled = true
	}
}
