package sim

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// process is one process on one machine: its hands, its idea of the table's
// time, its locks.
type process struct {
	id      int
	world   *world
	machine *machine
	clock   *clock.Dual
	time    lock.TableTime
	locks   *lock.Locks
	threads []*thread
	left    []int // calls that each of its callers still has to make
	asking  int   // callers between the beginning and the end of a call

	dead         bool
	stalledUntil time.Duration // true time
	stalled      time.Duration // true time so far in which it did nothing
	lost         time.Duration // of that, with both clocks standing
	timeouts     int           // of requests, that haven't been cancelled
}

// finished is left of a caller that has nothing more to do.
const finished = -1

// boot starts a machine and a process on it.
func (w *world) boot() {
	var left []int
	for range pick(w.rnd, 1, 1, 2) {
		left = append(left, w.calls)
		w.callers++
	}
	w.launch(newMachine(w), left)
}

// launch starts a process on a machine that may have had others.
func (w *world) launch(m *machine, left []int) {
	p := w.connect(m)
	p.left = left
	for i := range left {
		if left[i] == finished {
			continue
		}
		p.start(func(t *thread) { p.live(t, i) })
	}
	w.after(around(w.rnd, 10*time.Second), p.disturb)
	if w.crashes && w.rnd.IntN(2) == 0 {
		w.after(around(w.rnd, 20*time.Second), p.crash)
	}
}

// connect makes a process that does nothing yet.
func (w *world) connect(m *machine) *process {
	w.service.processes++
	p := &process{id: w.service.processes, world: w, machine: m}
	w.all = append(w.all, p)
	p.clock = clock.NewDual(p)
	p.time = lock.NewTableClock(0, nil)
	if w.broken.time != nil {
		p.time = w.broken.time(p.time)
	}
	var tbl lock.Table = table{p}
	if w.broken.table != nil {
		tbl = w.broken.table(p, tbl)
	}
	var err error
	p.locks, err = lock.New(p.clock, tbl, p.time, lock.Options{
		Guard: w.guard, Jitter: w.rnd.Float64, Timeout: p.within,
		Events: lock.Events{AmbiguityResolved: func(lock.Key) { w.counts.healed++ }},
	})
	if err != nil {
		panic(err) // guards are chosen by us
	}
	return p
}

// live is the life of one caller.
func (p *process) live(t *thread, caller int) {
	rnd := p.world.rnd
	for p.left[caller] > 0 {
		_ = p.Sleep(context.Background(), around(rnd, pick(rnd, time.Millisecond, 300*time.Millisecond, 5*time.Second)))
		p.left[caller]--
		p.asking++
		t.call()
		p.asking--
	}
	p.left[caller] = finished
	p.world.callers--
}

func (p *process) asks() bool { return p.asking > 0 }

// crash ends the process, wherever it is. Its machine starts another one,
// which makes the calls that are left.
func (p *process) crash() {
	w := p.world
	if p.dead || w.over() {
		return
	}
	w.logf("p%d crashes", p.id)
	w.counts.crashes++
	p.dead = true
	for _, t := range p.threads {
		t.stop()
		t.forgetTimers()
		if t.holder != nil {
			w.recordEnd(t.holder, forever)
		}
	}
	w.at(max(w.now, p.stalledUntil)+around(w.rnd, 5*time.Second), func() { w.launch(p.machine, p.left) })
}

// whenAwake lets do happen now, or as soon as p is no longer stalled; never, if
// it has crashed by then.
func (p *process) whenAwake(do func()) {
	switch {
	case p.dead:
	case p.world.now < p.stalledUntil:
		p.world.at(p.stalledUntil, func() { p.whenAwake(do) })
	default:
		do()
	}
}

// Now and Sleep make p the [clock.Clock] of itself.
func (p *process) Now() clock.Instant { return p.machine.read() }

func (p *process) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := p.world.current
		t.wait(func(func()) {
			t.timer(p.machine.monotonic() + d + between(p.world.rnd, 0, time.Millisecond))
			t.timerOf(ctx)
		})
	}
	return ctx.Err()
}

// passOn wakes who waits in the queue of p: the place may be theirs now.
func (p *process) passOn() {
	for _, t := range p.threads {
		if t.look != nil {
			t.passed = true // whatever wakes it first
			p.world.after(0, t.look)
		}
	}
}
