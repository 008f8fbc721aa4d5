package sim

import (
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
)

// process is one process on one machine, with its clock, its estimate of the
// table's time, and its locks.
type process struct {
	id        int
	sim       *simulation
	machine   *machine
	clock     *clock.Dual
	time      lock.TableTime
	locks     *lock.Locks
	threads   []*thread
	callsLeft []int // calls that each of its callers still has to make
	inFlight  int   // callers between the start and the end of a call

	dead          bool
	stalledUntil  time.Duration // true time
	stalled       time.Duration // true time so far in which it did nothing
	clocksStopped time.Duration // of that, with both clocks stopped
	timeouts      int           // of requests that haven't been cancelled
}

// finished stands for the calls left to a caller that has returned.
const finished = -1

// boot starts a machine and a process on it.
func (sim *simulation) boot() {
	var left []int
	for range pick(sim.rnd, 1, 1, 2) {
		left = append(left, sim.calls)
		sim.callers++
	}
	sim.launch(newMachine(sim), left)
}

// launch starts a process on a machine that may have had others.
func (sim *simulation) launch(m *machine, left []int) {
	p := sim.connect(m)
	p.callsLeft = left
	for i := range left {
		if left[i] == finished {
			continue
		}
		p.start(func(t *thread) { p.runCaller(t, i) })
	}
	sim.after(around(sim.rnd, 10*time.Second), p.disturb)
	if sim.crashes && sim.rnd.IntN(2) == 0 {
		sim.after(around(sim.rnd, 20*time.Second), p.crash)
	}
}

// connect makes a process that does nothing yet.
func (sim *simulation) connect(m *machine) *process {
	p := &process{id: len(sim.processes) + 1, sim: sim, machine: m}
	sim.processes = append(sim.processes, p)
	p.clock = clock.NewDual(p)
	p.time = lock.NewTableClock(0, nil)
	if sim.mutant.time != nil {
		p.time = sim.mutant.time(p.time)
	}
	var tbl lock.Table = table{p}
	if sim.mutant.table != nil {
		tbl = sim.mutant.table(p, tbl)
	}
	var err error
	p.locks, err = lock.New(p.clock, tbl, p.time, lock.Options{
		Guard: sim.guard, Jitter: sim.rnd.Float64, Timeout: p.withTimeout,
		Events: lock.Events{AmbiguityResolved: func(lock.Key) { sim.counts.resolved++ }},
	})
	if err != nil {
		panic(err) // the plan has valid guards only
	}
	return p
}

// runCaller makes the calls of one caller.
func (p *process) runCaller(t *thread, caller int) {
	rnd := p.sim.rnd
	for p.callsLeft[caller] > 0 {
		_ = p.Sleep(context.Background(), around(rnd, pick(rnd, time.Millisecond, 300*time.Millisecond, 5*time.Second)))
		p.callsLeft[caller]--
		p.inFlight++
		t.call()
		p.inFlight--
	}
	p.callsLeft[caller] = finished
	p.sim.callers--
}

func (p *process) inCall() bool { return p.inFlight > 0 }

// crash ends the process, wherever it is. Its machine starts another one,
// which makes the calls that are left.
func (p *process) crash() {
	sim := p.sim
	if p.dead || sim.over() {
		return
	}
	sim.logf("p%d crashes", p.id)
	sim.counts.crashes++
	p.dead = true
	for _, t := range p.threads {
		t.stop()
		t.forgetTimers()
		if t.holder != nil {
			sim.recordEnd(t.holder, forever)
		}
	}
	sim.at(max(sim.now, p.stalledUntil)+around(sim.rnd, 5*time.Second), func() { sim.launch(p.machine, p.callsLeft) })
}

// whenAwake lets do happen now, or as soon as p is no longer stalled; never, if
// it has crashed by then.
func (p *process) whenAwake(do func()) {
	switch {
	case p.dead:
	case p.sim.now < p.stalledUntil:
		p.sim.at(p.stalledUntil, func() { p.whenAwake(do) })
	default:
		do()
	}
}

// Now and Sleep make p its own [clock.Clock].
func (p *process) Now() clock.Instant { return p.machine.read() }

func (p *process) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := p.sim.current
		t.wait(func(func()) {
			t.timer(p.machine.monotonic() + d + between(p.sim.rnd, 0, time.Millisecond))
			t.timerOf(ctx)
		})
	}
	return ctx.Err()
}

// wakeQueue wakes the callers in the queue of p: the slot may be theirs now.
func (p *process) wakeQueue() {
	for _, t := range p.threads {
		if t.wakeQueued != nil {
			t.slotFreed = true // whatever wakes it first
			p.sim.after(0, t.wakeQueued)
		}
	}
}
