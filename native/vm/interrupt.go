package vm

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Cause names what has interrupted a run or a frame of it.
type Cause string

// The causes of interrupts.
const (
	Deadline     Cause = "deadline"     // of a frame, or the run's own timeout
	Instructions Cause = "instructions" // steps used up
	Memory       Cause = "memory"       // held at once
	// ProcessMemory: all runs together held too much, and this one the most.
	ProcessMemory Cause = "memory of the process"
	Coroutine     Cause = "coroutines" // too many alive
	Cancelled     Cause = "cancelled"  // the host's context is done
	Closed        Cause = "closed"     // the run is over, or an unreachable coroutine is unwound
)

// Interrupt says what has interrupted a run, and which frame it belongs to.
type Interrupt struct {
	Cause Cause
	// Value is the limit that was exceeded, in its own unit; 0 if the cause has
	// none.
	Value int64
	// Reason is the cause of a cancellation.
	Reason error
	owner  int // index in the stack of deadlines; 0 is the run itself

	last  *lua.LState // the thread that it has unwound last
	calls []openCall  // that were open on the threads that it has unwound
}

// callsMax bounds the calls that an interrupt notes: the threads that it unwinds
// may be many.
const callsMax = 10 * traceEnds

// passes notes the calls that are open on L, which the interrupt is about to
// unwind. A thread is unwound by several steps; the first shows all of its calls.
func (i *Interrupt) passes(L *lua.LState) {
	if i.last != L && i.Cause != Closed && len(i.calls) < callsMax {
		i.last = L
		i.calls = appendCalls(i.calls, L)
	}
}

// InterruptStack returns where the run was when it was interrupted, the innermost
// function first.
func (r *Run) InterruptStack() []Frame {
	if r.interrupt == nil {
		return nil
	}
	return r.frames(r.interrupt.calls)
}

// DeadlineExceeded is the whole text of the error that a frame raises whose
// deadline has passed, without a position.
const DeadlineExceeded = "deadline exceeded"

// Error is the text that Lua code would see while the interrupt unwinds it; no
// script can catch it before the owner's frame.
func (i *Interrupt) Error() string {
	switch i.Cause {
	case Deadline:
		return DeadlineExceeded
	case Cancelled:
		return "cancelled"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("limit exceeded: %s (%d)", i.Cause, i.Value)
}

// Interrupt returns what has ended the run, nil if nothing has.
func (r *Run) Interrupt() *Interrupt { return r.interrupt }

func (r *Run) setInterrupt(i *Interrupt) {
	r.interrupt = i
	r.meter.stop()
}

// checkLimits sets the interrupt if the run is cancelled, or a deadline or the
// instruction limit has passed by now. It reports whether there is one.
func (r *Run) checkLimits(now time.Duration) bool {
	if r.stop != nil && r.stop.Err() != nil && r.stopFrame < len(r.deadlines) {
		r.deadlines.end(r.stopFrame, now)
	}
	switch {
	case r.ctx.Err() != nil:
		r.setInterrupt(&Interrupt{Cause: Cancelled, Reason: context.Cause(r.ctx)})
	case now >= r.deadlines.nearest():
		owner := r.deadlines.outermostPassed(now)
		i := &Interrupt{Cause: Deadline, owner: owner}
		if owner == 0 {
			i.Value = r.limits.Timeout.Milliseconds()
		}
		r.setInterrupt(i)
	case r.meter.usedUp():
		r.setInterrupt(&Interrupt{Cause: Instructions, Value: r.meter.limit})
	}
	return r.interrupt != nil
}

// CheckInterrupt reads both clocks and raises the interrupt if there is one.
// Every native call passes it before it acts. It returns what it read.
func (r *Run) CheckInterrupt() clock.Reading {
	now := r.clock.Read()
	if r.interrupt != nil || r.checkLimits(now.ElapsedMax) {
		r.RaiseInterrupt()
	}
	return now
}

// RaiseInterrupt raises the error of the interrupt, which must be set, on the
// thread that runs now.
func (r *Run) RaiseInterrupt() {
	r.meter.stop()
	r.frame.thread.Panic = raised
	r.frame.thread.RaiseError("%s", r.interrupt.Error())
}

// RaiseLimit ends the whole run, because it has exceeded a limit of this value.
func (r *Run) RaiseLimit(limit Cause, value int64) {
	r.setInterrupt(&Interrupt{Cause: limit, Value: value})
	r.RaiseInterrupt()
}

// RaiseCancelled ends the whole run for a reason of the host's own.
func (r *Run) RaiseCancelled(reason error) {
	r.setInterrupt(&Interrupt{Cause: Cancelled, Reason: reason})
	r.RaiseInterrupt()
}
