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
// wake. Only the first one counts, and none before the process is awake.
func (t *thread) wait(arm func(wake func())) {
	t.waits++
	mine := t.waits
	arm(func() {
		t.process.whenAwake(func() {
			if t.waits == mine {
				t.waits++
				t.resume()
			}
		})
	})
	if !t.yield(struct{}{}) {
		panic(stopped{})
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
	return until{ctx, p, p.machine.monotonic() + d}, func() {}
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
		t.look = func() { t.passed = true; wake() }
		p.timer(max(min(t.waitEnd-p.hands.Fast(), time.Second), time.Microsecond), wake)
		p.timerOf(c, wake)
	})
	t.look = nil
}

// monoTime writes a reading of a monotonic clock as the time that a context's
// deadline has to be.
func monoTime(mono time.Duration) time.Time { return time.Unix(0, int64(mono)) }

func monoOf(deadline time.Time) time.Duration { return time.Duration(deadline.UnixNano()) }
