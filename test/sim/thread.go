package sim

import (
	"context"
	"iter"
	"time"
)

// thread is one caller's coroutine. It runs from when it is resumed to when it
// waits; nothing else runs meanwhile.
type thread struct {
	process *process
	next    func() (struct{}, bool)
	stop    func() // ends it where it waits
	yield   func(struct{}) bool
	waits   int
	timers  []timer // that could wake it from where it waits

	started        time.Duration // true time at which its call started
	startedElapsed time.Duration // the same on ElapsedMax
	turn           bool          // the call is a turn
	lease          time.Duration // of the call
	usable         bool          // no put of the call has been sent yet, or the last one had a usable answer
	holder         *holder       // while it holds a lock
	waitEnd        time.Duration // on ElapsedMax: when its wait in the process's queue ends
	slotFreed      bool          // the slot that it waits for has been passed on
	wakeQueued     func()        // wakes it in that queue; nil if it doesn't wait there
}

// threadStopped is thrown by a thread that is ended.
type threadStopped struct{}

// start starts a thread of p that runs body.
func (p *process) start(body func(*thread)) *thread {
	t := &thread{process: p}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != (threadStopped{}) {
				panic(r)
			}
		}()
		body(t)
	})
	p.threads = append(p.threads, t)
	p.sim.threads = append(p.sim.threads, t)
	p.sim.after(0, func() { p.whenAwake(t.resume) })
	return t
}

func (t *thread) resume() {
	t.process.sim.current = t
	t.next()
	t.process.sim.current = nil
}

// wait yields until one of the events that arm schedules calls wake, or one of
// the timers that it sets fires. Only the first one counts, and none before the
// process is awake.
func (t *thread) wait(arm func(wake func())) {
	t.waits++
	mine := t.waits
	arm(func() { t.wake(mine) })
	if !t.yield(struct{}{}) {
		panic(threadStopped{})
	}
}

// wake ends a wait, unless that is over.
func (t *thread) wake(wait int) {
	p := t.process
	switch {
	case p.dead || t.waits != wait:
		return
	case p.sim.now < p.stalledUntil:
		p.whenAwake(func() { t.wake(wait) })
		return
	}
	t.waits++
	t.forgetTimers()
	t.resume()
}

func (t *thread) forgetTimers() {
	for _, a := range t.timers {
		t.process.sim.queue.cancel(a)
	}
	t.timers = t.timers[:0]
}

// timer wakes t from where it waits when the monotonic clock shows end, as the
// timers of an operating system do.
func (t *thread) timer(end time.Duration) {
	m, wait := t.process.machine, t.waits
	left := end - m.monotonic()
	left -= time.Duration(int64(left) * m.monoRate / 1_000_000)
	t.timers = append(t.timers, t.process.sim.after(max(left, 0)+time.Microsecond, func() {
		t.fire(wait, end)
	}))
}

// fire wakes t if its timer is due and the process awake.
func (t *thread) fire(wait int, end time.Duration) {
	p := t.process
	switch {
	case p.dead || t.waits != wait:
	case p.sim.now < p.stalledUntil:
		p.whenAwake(func() { t.fire(wait, end) })
	case p.machine.monotonic() < end:
		t.timer(end)
	default:
		t.wake(wait)
	}
}

// timerOf wakes t at the end of ctx, if it has one.
func (t *thread) timerOf(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		t.timer(monoOf(end))
	}
}

// deadlineContext is a context that ends when the monotonic clock of its process
// shows end.
type deadlineContext struct {
	context.Context
	process *process
	end     time.Duration
}

// withTimeout is a [lock.Options.Timeout].
func (p *process) withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	p.timeouts++
	return deadlineContext{ctx, p, p.machine.monotonic() + d}, func() { p.timeouts-- }
}

func (c deadlineContext) Deadline() (time.Time, bool) {
	end := monoTime(c.end)
	if outer, ok := c.Context.Deadline(); ok && outer.Before(end) {
		end = outer
	}
	return end, true
}

func (c deadlineContext) Err() error {
	if end, _ := c.Deadline(); monoTime(c.process.machine.monotonic()).Before(end) {
		return c.Context.Err()
	}
	return context.DeadlineExceeded
}

// Done is called only by the queue of a process, each time before it waits. So
// this is where such a caller waits. When it returns, either the queue has
// granted the caller the slot, or the queue polls once its timer has fired,
// which the bubble's own time makes happen at once.
func (c deadlineContext) Done() <-chan struct{} {
	if c.Err() == nil {
		c.process.sim.current.pollQueue(c)
	}
	if c.Err() == nil {
		return nil
	}
	done := make(chan struct{})
	close(done)
	return done
}

// pollQueue waits until the queue should poll. It doesn't after the slot may have
// been granted: the bubble's time moves for all callers at once, so the queue's
// timer may have fired too and have been noticed first, which must make no
// difference.
func (t *thread) pollQueue(c deadlineContext) {
	if t.slotFreed {
		t.slotFreed = false
		return
	}
	p := t.process
	p.sim.counts.queued++
	t.wait(func(wake func()) {
		t.wakeQueued = wake
		t.timer(p.machine.monotonic() + max(min(t.waitEnd-p.clock.ElapsedMax(), time.Second), time.Microsecond))
		t.timerOf(c)
	})
	t.wakeQueued = nil
}

// monoTime returns a reading of a monotonic clock as a time, which a context's
// deadline has to be.
func monoTime(mono time.Duration) time.Time { return time.Unix(0, int64(mono)) }

func monoOf(deadline time.Time) time.Duration { return time.Duration(deadline.UnixNano()) }
