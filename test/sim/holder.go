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

	// handsBehind is by how much the fast hand of a machine may have fallen
	// behind: 10 ms for each thing that befalls it (see handsApart of vm).
	handsBehind = 60 * time.Millisecond
)

// held is a lock that somebody holds.
type held struct {
	end           time.Duration // on the fast hand
	release, keep func()
}

// call is one native.lock.with or turn, from asking to the end.
func (t *thread) call() {
	p, w := t.process, t.process.world
	r := p.request()
	t.asked, t.turn, t.lease = w.now, r.Turn, r.Lease
	t.waitEnd = p.clock.ElapsedMax() + min(r.Wait, r.Lease)
	length := w.runFor(r)
	if r.Turn {
		t.waitEnd = forever
	}
	stalled := p.stalled
	w.logf("p%d asks for %s: lease %v, wait %v, turn %t, run %v", p.id, r.Key.Name, r.Lease, r.Wait, r.Turn, length)

	t.usable, t.passed = true, false
	asked := p.clock.Read()
	t.begun = asked.ElapsedMax
	if w.rnd.IntN(2) == 0 {
		r.Started = asked
		_ = p.Sleep(context.Background(), around(w.rnd, 5*time.Millisecond))
	}
	run := until{context.Background(), p, p.machine.monotonic() + length}
	got, err := w.acquire(p, run, r)
	if err == nil {
		t.hold(r, got, run)
	} else {
		w.logf("p%d not acquired: %v", p.id, err)
		t.checkRefusal(err)
	}
	p.passOn()

	most := length
	if !r.Turn {
		most = min(most, r.Lease)
	}
	most += 2 * time.Second
	if took := w.now - t.asked - (p.stalled - stalled); took > most+most/1000+stopLag+handsBehind {
		w.wrong(ends, "p%d: a call took %v, at most %v are allowed", p.id, took, most)
	}
}

// checkRefusal checks a call that hasn't got the lock.
func (t *thread) checkRefusal(err error) {
	w := t.process.world
	switch {
	case !errors.Is(err, lock.ErrHeld):
		w.counts.failed++
	case t.usable:
		w.counts.refused++
	default:
		w.wrong(tells, "p%d: not acquired, but the last put had no usable answer", t.process.id)
	}
}

// runFor draws how long the run may last that makes the call r.
func (w *world) runFor(r lock.Request) time.Duration {
	if w.rnd.IntN(4) == 0 {
		return between(w.rnd, time.Second, 90*time.Second)
	}
	return r.Lease + between(w.rnd, 0, time.Minute)
}

// request draws what a call asks for.
func (p *process) request() lock.Request {
	w, rnd := p.world, p.world.rnd
	r := lock.Request{
		Key:   w.key(rnd.IntN(w.names)),
		Lease: w.lease(rnd),
		Wait:  wait(rnd),
		Turn:  rnd.IntN(3) == 0 || w.leases == hasty,
	}
	if r.Turn && rnd.IntN(3) == 0 {
		r.Poll = between(rnd, time.Millisecond, 2*time.Second)
	}
	if w.leases == hasty {
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
		w.counts.spent++
		return nil
	}
	return r
}

// acquire asks the lock, or what a test puts in its place.
func (w *world) acquire(p *process, ctx context.Context, r lock.Request) (*held, error) {
	if w.broken.acquire != nil {
		return w.broken.acquire(p, ctx, r)
	}
	l, err := p.locks.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return &held{l.End, func() { l.Release(ctx) }, l.LetExpire}, nil
}

// holder is one function that runs under a lock.
type holder struct {
	id      int
	key     lock.Key
	process *process
	end     time.Duration // fast hand: of the lease or the run, whichever is first, and a stop lag
	free    func()        // release, for a broken holder
	acted   time.Duration // true time: when it did something for the last time
	stopped bool
	closed  bool
}

// hold runs a holder and gives up the lock.
func (t *thread) hold(r lock.Request, got *held, run until) {
	p, w := t.process, t.process.world
	w.holders++
	w.counts.acquired++
	fast := p.clock.ElapsedMax()
	h := &holder{id: w.holders, key: r.Key, process: p, acted: w.now, free: got.release}
	h.end = min(got.end, fast+run.end-p.machine.monotonic()) + between(w.rnd, 0, stopLag)
	w.logf("p%d h%d holds %s, %v left", p.id, h.id, r.Key.Name, got.end-fast)
	// The hand may have been set back since the lease began.
	if left := got.end - fast; left <= 0 || left > r.Lease+handsBehind || !r.Turn && got.end > t.begun+r.Lease {
		w.wrong(stops, "h%d: a lease of %v has %v left", h.id, r.Lease, left)
	}
	w.holder[r.Key] = h
	w.recordAcquire(h, t.asked)
	t.holder = h
	if w.crashes && w.rnd.IntN(10) == 0 {
		w.after(around(w.rnd, 200*time.Millisecond), p.crash)
	}
	unsettled := h.work()
	h.giveUp(r, got, unsettled)
	t.holder = nil
}

// giveUp gives up the lock as native.lock does.
func (h *holder) giveUp(r lock.Request, got *held, unsettled bool) {
	p, w := h.process, h.process.world
	if unsettled && !w.broken.forgets {
		w.logf("p%d h%d keeps %s", p.id, h.id, h.key.Name)
		w.counts.kept++
		got.keep()
		w.recordEnd(h, forever)
		return
	}
	w.logf("p%d h%d releases %s", p.id, h.id, h.key.Name)
	from, stalled, most := w.now, p.stalled, 2*time.Second
	if r.HostEnd > 0 {
		most = min(most, max(r.HostEnd-p.clock.ElapsedMax(), 0))
	}
	got.release()
	w.recordEnd(h, w.now)
	if took := w.now - from - (p.stalled - stalled); took > most+stopLag+handsBehind {
		w.wrong(ends, "h%d: a release took %v, at most %v are allowed", h.id, took, most)
	}
}

// work reads the counter, works, and writes it, some times or until it is
// stopped. It says whether it leaves a write behind whose outcome isn't known.
func (h *holder) work() (unsettled bool) {
	rnd := h.process.world.rnd
	for range 1 + rnd.IntN(3) {
		n, ok := h.get()
		if !ok || !h.pause() {
			return false
		}
		if h.process.world.broken.early && h.free != nil {
			h.free()
			h.free = nil
		}
		if sent, ok := h.put(n); !ok {
			return sent
		}
	}
	return false
}

// act is called whenever the holder is about to do something. It is false once
// the holder has been stopped.
func (h *holder) act() bool {
	w := h.process.world
	if h.process.clock.ElapsedMax() >= h.end {
		if !h.stopped {
			w.counts.stopped++
		}
		h.stopped = true
		return false
	}
	if now := w.holder[h.key]; now != h {
		w.wrong(excludes, "h%d and h%d hold %s at once", h.id, now.id, h.key.Name)
	}
	h.acted = w.now
	return true
}

// pause works for a while: mostly shortly, sometimes up to the very end of the
// lease, or beyond.
func (h *holder) pause() bool {
	p, rnd := h.process, h.process.world.rnd
	left := h.end - p.clock.ElapsedMax()
	var d time.Duration
	switch n := rnd.IntN(4); {
	case n == 0 || p.world.leases != mixed:
		d = left - around(rnd, 5*time.Millisecond)
	case n == 1:
		d = between(rnd, 0, max(left, 1)) * 5 / 4
	default:
		d = around(rnd, 100*time.Millisecond)
	}
	for range 3 {
		_ = p.Sleep(h.lifetime(), d/3)
		if !h.act() {
			return false
		}
	}
	return true
}

// lifetime is the context of what the holder waits for.
func (h *holder) lifetime() until {
	p := h.process
	return until{context.Background(), p, p.machine.monotonic() + h.end - p.clock.ElapsedMax()}
}

func (h *holder) get() (n int, ok bool) {
	p, w := h.process, h.process.world
	if !h.act() {
		return 0, false
	}
	from := w.now
	end, _ := p.send(h.lifetime(), w.trip(), func() { n = w.service.get(h.key) })
	if end != answered || !h.act() {
		return 0, false
	}
	w.recordRead(h, n, from)
	w.logf("p%d h%d reads %d", p.id, h.id, n)
	return n, true
}

// put writes the counter that was read as n. It says whether a write is out,
// and whether the holder may go on.
func (h *holder) put(n int) (sent, ok bool) {
	p, w := h.process, h.process.world
	if !h.act() {
		return false, false
	}
	t := w.trip()
	most := w.guard - stopLag - handsBehind
	if w.rnd.IntN(3) == 0 {
		t.out = between(w.rnd, most/4, most)
	}
	t.out = min(t.out, most)
	w.logf("p%d h%d writes %d: %s, %v out", p.id, h.id, n+1, t.fate, t.out)
	from := w.now
	end, _ := p.send(h.lifetime(), t, func() {
		w.recordWrite(h, n+1, from)
		w.service.set(h, n)
	})
	switch end {
	case answered:
		return true, true
	case turned, denied, unreachable:
		return false, false
	}
	return true, false
}
