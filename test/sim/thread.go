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
	timers  []appointment // that could wake it from where it waits

	asked   time.Duration // true time: when the call that it makes began
	begun   time.Duration // fast hand: the same
	turn    bool          // the call is a turn
	lease   time.Duration // of the call
	usable  bool          // no put of the call has been sent yet, or the last one had a usable answer
	holder  *holder       // who it is while it holds a lock
	waitEnd time.Duration // fast hand: when its place in the process's queue is of no use any more
	passed  bool          // the place before it was given up
	look    func()        // wakes it in that queue; nil if it isn't there
}

// stopped is thrown by a thread that is ended.
type stopped struct{}

// start starts a thread of p that lives its life.
func (p *process) start(life func(*thread)) *thread {
	t := &thread{process: p}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != (stopped{}) {
				panic(r)
			}
		}()
		life(t)
	})
	p.threads = append(p.threads, t)
	p.world.threads = append(p.world.threads, t)
	p.world.after(0, func() { p.whenAwake(t.resume) })
	return t
}

func (t *thread) resume() {
	t.process.world.current = t
	t.next()
	t.process.world.current = nil
}

// wait hands control back until one of the events that arm arranges calls
// wake, or one of the timers that it sets goes off. Only the first one counts,
// and none before the process is awake.
func (t *thread) wait(arm func(wake func())) {
	t.waits++
	mine := t.waits
	arm(func() { t.wake(mine) })
	if !t.yield(struct{}{}) {
		panic(stopped{})
	}
}

// wake ends a wait, unless that is over.
func (t *thread) wake(wait int) {
	p := t.process
	switch {
	case p.dead || t.waits != wait:
		return
	case p.world.now < p.stalledUntil:
		p.whenAwake(func() { t.wake(wait) })
		return
	}
	t.waits++
	t.forgetTimers()
	t.resume()
}

func (t *thread) forgetTimers() {
	for _, a := range t.timers {
		t.process.world.queue.cancel(a)
	}
	t.timers = t.timers[:0]
}

// timer wakes t from where it waits when the monotonic clock shows end, as
// timers do.
func (t *thread) timer(end time.Duration) {
	m, wait := t.process.machine, t.waits
	left := end - m.monotonic()
	left -= time.Duration(int64(left) * m.monoRate / 1_000_000)
	t.timers = append(t.timers, t.process.world.after(max(left, 0)+time.Microsecond, func() {
		t.goOff(wait, end)
	}))
}

// goOff lets a timer go off once it may.
func (t *thread) goOff(wait int, end time.Duration) {
	p := t.process
	switch {
	case p.dead || t.waits != wait:
	case p.world.now < p.stalledUntil:
		p.whenAwake(func() { t.goOff(wait, end) })
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

// until is a context that ends when the monotonic clock of its process, the
// one that timers go by, shows end.
type until struct {
	context.Context
	process *process
	end     time.Duration
}

// within is a [lock.Options.Timeout].
func (p *process) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	p.timeouts++
	return until{ctx, p, p.machine.monotonic() + d}, func() { p.timeouts-- }
}

func (c until) Deadline() (time.Time, bool) {
	end := monoTime(c.end)
	if outer, ok := c.Context.Deadline(); ok && outer.Before(end) {
		end = outer
	}
	return end, true
}

func (c until) Err() error {
	if end, _ := c.Deadline(); monoTime(c.process.machine.monotonic()).Before(end) {
		return c.Context.Err()
	}
	return context.DeadlineExceeded
}

// Done is called by the queue of a process, each time before it waits, and by
// nobody else. So this is where such a caller waits; when it returns, either
// the queue has granted the caller its place, or the queue looks again once
// its timer has fired, which the bubble's own time makes happen at once.
func (c until) Done() <-chan struct{} {
	if c.Err() == nil {
		c.process.world.current.lookAgain(c)
	}
	if c.Err() == nil {
		return nil
	}
	done := make(chan struct{})
	close(done)
	return done
}

// lookAgain waits until the queue should look at its caller's place again. It
// doesn't after the place may have been granted: the bubble's time moves for
// all callers at once, so the queue's timer may have fired too and have been
// seen first, which must make no difference.
func (t *thread) lookAgain(c until) {
	if t.passed {
		t.passed = false
		return
	}
	p := t.process
	p.world.counts.queued++
	t.wait(func(wake func()) {
		t.look = wake
		t.timer(p.machine.monotonic() + max(min(t.waitEnd-p.clock.ElapsedMax(), time.Second), time.Microsecond))
		t.timerOf(c)
	})
	t.look = nil
}

// monoTime writes a reading of a monotonic clock as the time that a context's
// deadline has to be.
func monoTime(mono time.Duration) time.Time { return time.Unix(0, int64(mono)) }

func monoOf(deadline time.Time) time.Duration { return time.Duration(deadline.UnixNano()) }
