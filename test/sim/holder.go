package sim

import (
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
)

const (
	// stopLag is how long after the end of a lease a holder may still do
	// something, at most.
	stopLag = 45 * time.Millisecond

	// clockLag is by how much ElapsedMax of a process may have fallen behind:
	// 10 ms for each disturbance of its clocks (see [clock.MaxDivergence]).
	clockLag = 60 * time.Millisecond
)

// heldLock is a lock that is held.
type heldLock struct {
	end                time.Duration // on ElapsedMax
	release, letExpire func()
}

// call is one call of native.lock.with or turn, to its end.
func (t *thread) call() {
	p, sim := t.process, t.process.sim
	r := p.request()
	t.started, t.turn, t.lease = sim.now, r.Turn, r.Lease
	t.waitEnd = p.clock.ElapsedMax() + min(r.Wait, r.Lease)
	length := sim.runLength(r)
	if r.Turn {
		t.waitEnd = forever
	}
	stalled := p.stalled
	sim.logf("p%d calls for %s: lease %v, wait %v, turn %t, run %v", p.id, r.Key.Name, r.Lease, r.Wait, r.Turn, length)

	t.usable, t.slotFreed = true, false
	started := p.clock.Read()
	t.startedElapsed = started.ElapsedMax
	if sim.rnd.IntN(2) == 0 {
		r.Started = started
		_ = p.Sleep(context.Background(), around(sim.rnd, 5*time.Millisecond))
	}
	run := deadlineContext{context.Background(), p, p.machine.monotonic() + length}
	got, err := sim.acquire(p, run, r)
	if err == nil {
		t.hold(r, got, run)
	} else {
		sim.logf("p%d not acquired: %v", p.id, err)
		t.checkRefusal(err)
	}
	p.wakeQueue()

	most := length
	if !r.Turn {
		most = min(most, r.Lease)
	}
	most += 2 * time.Second
	if took := sim.now - t.started - (p.stalled - stalled); took > most+most/1000+stopLag+clockLag {
		sim.violated(termination, "p%d: a call took %v, at most %v are allowed", p.id, took, most)
	}
}

// checkRefusal checks a call that has not acquired the lock.
func (t *thread) checkRefusal(err error) {
	sim := t.process.sim
	switch {
	case !errors.Is(err, lock.ErrHeld):
		sim.counts.failed++
	case t.usable:
		sim.counts.refused++
	default:
		sim.violated(refusal, "p%d: not acquired, but the last put had no usable answer", t.process.id)
	}
}

// runLength draws how long the run may last that makes the request r.
func (sim *simulation) runLength(r lock.Request) time.Duration {
	if sim.rnd.IntN(4) == 0 {
		return between(sim.rnd, time.Second, 90*time.Second)
	}
	return r.Lease + between(sim.rnd, 0, time.Minute)
}

// request draws the request of a call.
func (p *process) request() lock.Request {
	sim, rnd := p.sim, p.sim.rnd
	r := lock.Request{
		Key:   sim.key(rnd.IntN(sim.names)),
		Lease: sim.lease(rnd),
		Wait:  wait(rnd),
		Turn:  rnd.IntN(3) == 0 || sim.leases == short,
	}
	if r.Turn && rnd.IntN(3) == 0 {
		r.Poll = between(rnd, time.Millisecond, 2*time.Second)
	}
	if sim.leases == short {
		r.Poll = between(rnd, time.Millisecond, 100*time.Millisecond)
	}
	budget := 1000
	if rnd.IntN(20) == 0 {
		budget = rnd.IntN(4)
	}
	if rnd.IntN(10) == 0 {
		r.HostEnd = p.clock.ElapsedMax() + between(rnd, time.Millisecond, r.Lease+2*time.Second)
	}
	r.Spend = func() error {
		if budget--; budget < 0 {
			return errBudget
		}
		sim.counts.spent++
		return nil
	}
	return r
}

// acquire acquires the lock, or what a mutant has in its place.
func (sim *simulation) acquire(p *process, ctx context.Context, r lock.Request) (*heldLock, error) {
	if sim.mutant.acquire != nil {
		return sim.mutant.acquire(p, ctx, r)
	}
	l, err := p.locks.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return &heldLock{l.End, func() { l.Release(ctx) }, l.LetExpire}, nil
}

// holder is one function that runs under a lock.
type holder struct {
	id      int
	key     lock.Key
	process *process
	end     time.Duration // on ElapsedMax: of the lease or the run, whichever is first, and a stop lag
	release func()        // for a mutant that releases early
	acted   time.Duration // true time at which it did something for the last time
	stopped bool
	closed  bool
}

// hold runs a holder and gives up the lock.
func (t *thread) hold(r lock.Request, got *heldLock, run deadlineContext) {
	p, sim := t.process, t.process.sim
	sim.holders++
	sim.counts.acquired++
	now := p.clock.ElapsedMax()
	h := &holder{id: sim.holders, key: r.Key, process: p, acted: sim.now, release: got.release}
	h.end = min(got.end, now+run.end-p.machine.monotonic()) + between(sim.rnd, 0, stopLag)
	sim.logf("p%d h%d holds %s, %v left", p.id, h.id, r.Key.Name, got.end-now)
	// A step of the wall clock may have taken up to clockLag back since the
	// lease began.
	if left := got.end - now; left <= 0 || left > r.Lease+clockLag || !r.Turn && got.end > t.startedElapsed+r.Lease {
		sim.violated(leaseBound, "h%d: a lease of %v has %v left", h.id, r.Lease, left)
	}
	sim.lastHolder[r.Key] = h
	sim.recordAcquire(h, t.started)
	t.holder = h
	if sim.crashes && sim.rnd.IntN(10) == 0 {
		sim.after(around(sim.rnd, 200*time.Millisecond), p.crash)
	}
	inDoubt := h.work()
	h.giveUp(r, got, inDoubt)
	t.holder = nil
}

// giveUp gives the lock up as native.lock does.
func (h *holder) giveUp(r lock.Request, got *heldLock, inDoubt bool) {
	p, sim := h.process, h.process.sim
	if inDoubt && !sim.mutant.releasesInDoubt {
		sim.logf("p%d h%d keeps %s", p.id, h.id, h.key.Name)
		sim.counts.kept++
		got.letExpire()
		sim.recordEnd(h, forever)
		return
	}
	sim.logf("p%d h%d releases %s", p.id, h.id, h.key.Name)
	from, stalled, most := sim.now, p.stalled, 2*time.Second
	if r.HostEnd > 0 {
		most = min(most, max(r.HostEnd-p.clock.ElapsedMax(), 0))
	}
	got.release()
	sim.recordEnd(h, sim.now)
	if took := sim.now - from - (p.stalled - stalled); took > most+stopLag+clockLag {
		sim.violated(termination, "h%d: a release took %v, at most %v are allowed", h.id, took, most)
	}
}

// work reads the counter, works, and writes it, up to three times or until it is
// stopped. It reports whether it leaves a write in doubt.
func (h *holder) work() (inDoubt bool) {
	rnd := h.process.sim.rnd
	for range 1 + rnd.IntN(3) {
		n, ok := h.get()
		if !ok || !h.pause() {
			return false
		}
		if h.process.sim.mutant.releasesEarly && h.release != nil {
			h.release()
			h.release = nil
		}
		if sent, ok := h.put(n); !ok {
			return sent
		}
	}
	return false
}

// act is called whenever the holder is about to do something. It reports whether
// the holder may: it hasn't been stopped.
func (h *holder) act() bool {
	sim := h.process.sim
	if h.process.clock.ElapsedMax() >= h.end {
		if !h.stopped {
			sim.counts.stopped++
		}
		h.stopped = true
		return false
	}
	if last := sim.lastHolder[h.key]; last != h {
		sim.violated(exclusion, "h%d and h%d hold %s at once", h.id, last.id, h.key.Name)
	}
	h.acted = sim.now
	return true
}

// pause works for a while: mostly a short one, sometimes up to the very end of
// the lease, or beyond.
func (h *holder) pause() bool {
	p, rnd := h.process, h.process.sim.rnd
	left := h.end - p.clock.ElapsedMax()
	var d time.Duration
	switch n := rnd.IntN(4); {
	case n == 0 || p.sim.leases != mixed:
		d = left - around(rnd, 5*time.Millisecond)
	case n == 1:
		d = between(rnd, 0, max(left, 1)) * 5 / 4
	default:
		d = around(rnd, 100*time.Millisecond)
	}
	for range 3 {
		_ = p.Sleep(h.context(), d/3)
		if !h.act() {
			return false
		}
	}
	return true
}

// context ends with the holder.
func (h *holder) context() deadlineContext {
	p := h.process
	return deadlineContext{context.Background(), p, p.machine.monotonic() + h.end - p.clock.ElapsedMax()}
}

func (h *holder) get() (n int, ok bool) {
	p, sim := h.process, h.process.sim
	if !h.act() {
		return 0, false
	}
	from := sim.now
	end, _ := p.send(h.context(), sim.roundTrip(), func() { n = sim.service.get(h.key) })
	if end != answered || !h.act() {
		return 0, false
	}
	sim.recordRead(h, n, from)
	sim.logf("p%d h%d reads %d", p.id, h.id, n)
	return n, true
}

// put replaces the counter that was read as n. It reports whether a write may
// have been sent, and whether the holder may go on.
func (h *holder) put(n int) (sent, ok bool) {
	p, sim := h.process, h.process.sim
	if !h.act() {
		return false, false
	}
	t := sim.roundTrip()
	most := sim.guard - stopLag - clockLag
	if sim.rnd.IntN(3) == 0 {
		t.out = between(sim.rnd, most/4, most)
	}
	t.out = min(t.out, most)
	sim.logf("p%d h%d writes %d: %s, %v out", p.id, h.id, n+1, t.fault, t.out)
	from := sim.now
	end, _ := p.send(h.context(), t, func() {
		sim.recordWrite(h, n+1, from)
		sim.service.set(h, n)
	})
	switch end {
	case answered:
		return true, true
	case throttled, denied, unreachable:
		return false, false
	}
	return true, false
}
