package vm

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// stepsPerLook is how many instructions pass at most between two looks at the
// clock: about 3 µs of Lua, while a look costs about 0.1 µs.
const stepsPerLook = 256

// slowLook is how long the steps between two looks may take. When they took
// longer, single instructions are heavy (a call with 60,000 arguments, the
// length of a table full of nils), and the next look comes sooner.
const slowLook = time.Millisecond

// handOverEvery is how long a run keeps the processor. With it a deadline of
// one of 32 busy runs on two cores is met within milliseconds; Go's own
// preemption alone is late by hundreds.
const handOverEvery = 200 * time.Microsecond

// hook is the run as the context of its Lua threads. It is not the run itself,
// because a context derived from it would race on its counter.
type hook Run

var _ context.Context = (*hook)(nil)

// Done is called before each Lua instruction. It returns nil, a channel that
// is never ready, until the run or one of its frames has ended.
func (h *hook) Done() <-chan struct{} {
	if h.left > 0 && !h.alarm.Load() {
		h.left--
		return nil
	}
	r := (*Run)(h)
	if ended := r.look(); ended != nil {
		return ended
	}
	r.left-- // the instruction that is about to run
	return nil
}

// Err is what gopher-lua raises once Done is closed.
func (h *hook) Err() error {
	if h.kill == nil {
		return nil
	}
	return h.kill
}

func (h *hook) Deadline() (time.Time, bool) { return time.Time{}, false }
func (h *hook) Value(any) any               { return nil }

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// look reads the clocks and all that may have ended the run.
func (r *Run) look() <-chan struct{} {
	r.thread.Panic = raised
	forgetTailCalls(r.thread)
	if r.kill != nil || r.ended() {
		r.left = 0
		return closed
	}
	return nil
}

// ended checks every limit, sets the kill token if one has passed, and hands
// the processor on when it is time to.
func (r *Run) ended() bool {
	if r.alarm.Load() {
		r.alarm.Store(false)
	}
	now := r.clock.ElapsedMax()
	if now-r.lookedAt > slowLook {
		r.pace = max(r.pace/16, 1)
	} else {
		r.pace = min(r.pace*4, stepsPerLook)
	}
	r.countSteps()
	if !r.paced || r.away || now-r.yieldedAt >= handOverEvery {
		now = r.handOver(now)
	}
	r.lookedAt = now
	return r.kill != nil || r.check(now)
}

// handOver lets others have the processor and returns the time at which the run
// has it again.
func (r *Run) handOver(now time.Duration) time.Duration {
	if r.guard != nil && !r.minded(now) {
		return now
	}
	if r.slot != nil {
		nearest := r.ends[len(r.ends)-1].nearest
		r.away = !r.slot.Yield(r.ctx.Done(), nearest-now)
	} else {
		r.yield()
	}
	if r.memory.watched {
		r.memory.from = r.guard.read().allocated
	}
	r.yieldedAt = r.clock.ElapsedMax()
	return r.yieldedAt
}

// leave gives the run's slot up. It gets another one before it goes on, at the
// look before the next instruction.
func (r *Run) leave() {
	if r.slot == nil {
		return
	}
	r.slot.Release()
	r.away = true
	r.countSteps()
	r.stride, r.left = 0, 0
}

// check sets the kill token if something has ended by now.
func (r *Run) check(now time.Duration) bool {
	switch {
	case r.ctx.Err() != nil:
		r.setKill(&Interrupt{Cause: Cancelled, Reason: context.Cause(r.ctx)})
	case now >= r.ends[len(r.ends)-1].nearest:
		r.setKill(r.passed(now))
	case r.limits.Instructions > 0 && r.steps >= r.limits.Instructions:
		r.setKill(&Interrupt{Cause: Instructions, Value: r.limits.Instructions})
	}
	return r.kill != nil
}

func (r *Run) setKill(k *Interrupt) {
	r.kill = k
	r.left = 0
}

// countSteps books the steps since the last look and starts a new stride.
func (r *Run) countSteps() {
	r.steps += int64(r.stride - r.left)
	r.setStride()
}

// setStride makes the next look come after pace steps, or exactly at the
// instruction limit.
func (r *Run) setStride() {
	r.stride = r.pace
	if limit := r.limits.Instructions; limit > 0 {
		r.stride = int32(min(int64(r.pace), max(limit-r.steps, 0)))
	}
	r.left = r.stride
}

// Step counts n steps of a Go function like instructions and raises the
// interrupt when something has ended. Each loop of a library function that a
// script can make long calls it, and so does each that calls back into Lua.
func (r *Run) Step(n int) {
	if n <= int(r.left) && !r.alarm.Load() {
		r.left -= int32(n)
		return
	}
	r.steps += int64(n) - int64(r.left)
	r.left = 0
	if r.look() != nil {
		r.RaiseInterrupt()
	}
}

// CheckInterrupt is passed by every native call before it acts: it reads both clocks
// and raises the interrupt if something has ended. It returns what it read.
func (r *Run) CheckInterrupt() clock.Reading {
	now := r.clock.Read()
	if r.kill != nil || r.check(now.ElapsedMax) {
		r.RaiseInterrupt()
	}
	return now
}

// RaiseInterrupt raises the error of the kill token, which must be set, on the
// thread that runs now.
func (r *Run) RaiseInterrupt() {
	r.left = 0
	r.thread.Panic = raised
	r.thread.RaiseError("%s", r.kill.Error())
}
