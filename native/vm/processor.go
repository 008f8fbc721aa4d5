package vm

import (
	"runtime"
	"time"
)

// yieldInterval is how long a run keeps the processor. With it a deadline of
// one of 32 busy runs on two cores is met within milliseconds; Go's own
// preemption alone is late by hundreds.
const yieldInterval = 200 * time.Microsecond

// Slot is the right of a run to execute Lua, where runs take turns. It is used
// by the run's goroutine.
type Slot interface {
	// Yield lets others have the slot, if any wait for one, and waits until the
	// run has one, again or for the first time. It gives up when done is closed
	// or after d, and returns whether the run has a slot.
	Yield(done <-chan struct{}, d time.Duration) bool
	// Release gives the slot up, if the run has one.
	Release()
}

// processor is how a run shares the processor with others.
type processor struct {
	slot      Slot   // nil for none
	parked    bool   // the run has given its slot up
	yield     func() // lets others run where there is no slot
	eager     bool   // yield at every poll
	yieldedAt time.Duration
}

func newProcessor(cfg *Config, now time.Duration) processor {
	if cfg.Yield != nil {
		return processor{yield: cfg.Yield, eager: true, yieldedAt: now}
	}
	return processor{slot: cfg.Slot, yield: runtime.Gosched, yieldedAt: now}
}

// due reports whether the run has to yield now.
func (p *processor) due(now time.Duration) bool {
	return p.eager || p.parked || now-p.yieldedAt >= yieldInterval
}

// yieldProcessor lets other runs have the processor, and returns the time at
// which the run has it again. It keeps it if its memory is over a limit: then it
// is interrupted.
func (r *Run) yieldProcessor(now time.Duration) time.Duration {
	if !r.withinMemoryLimits(now) {
		return now
	}
	p := &r.processor
	if p.slot != nil {
		p.parked = !p.slot.Yield(r.ctx.Done(), r.deadlines.nearest()-now)
	} else {
		p.yield()
	}
	r.memory.resume()
	p.yieldedAt = r.clock.ElapsedMax()
	return p.yieldedAt
}

// park gives the run's slot up. The run gets another one before it goes on, at
// the poll before its next instruction.
func (r *Run) park() {
	if r.processor.slot == nil {
		return
	}
	r.processor.slot.Release()
	r.processor.parked = true
	r.meter.stop()
}
