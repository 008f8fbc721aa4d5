package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tidelock-lua/tidelock/native/lock"
)

var errBudget = errors.New("budget used up")

// property is what every history has to have.
type property string

const (
	exclusion   property = "exclusion"   // two holders never overlap
	leaseBound  property = "lease"       // a lease is never longer than requested, nor over when it begins
	termination property = "termination" // calls end, rows run out
	budget      property = "budget"      // each put is paid for
	refusal     property = "refusal"     // ErrHeld means that the last put was refused
)

// forever is the end of what was not seen to end.
const forever = time.Duration(math.MaxInt64)

// operation is what a holder does with a lock, or with the counter that the lock
// guards.
type operation struct {
	kind   string // "acquire", "read", "write", "end"
	holder int
	value  int // of the counter
}

// lockState is the state of a lock and its counter.
type lockState struct {
	holder int // 0 if the lock is free
	value  int
}

// lockModel is what a lock is: one holder at a time, and only the holder reads
// and writes the counter. A lease ends at some moment after the holder did
// something for the last time, and before its release has returned, if it has.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, output any) (bool, any) {
		s, op := state.(lockState), input.(operation)
		switch op.kind {
		case "acquire":
			return s.holder == 0, lockState{op.holder, s.value}
		case "read":
			return s.holder == op.holder && s.value == op.value, s
		case "write":
			return s.holder == op.holder, lockState{op.holder, op.value}
		default:
			return s.holder == op.holder, lockState{0, s.value}
		}
	},
}

func (sim *simulation) record(h *holder, kind string, value int, from, to time.Duration) {
	sim.history[h.key] = append(sim.history[h.key], porcupine.Operation{
		ClientId: h.id, Input: operation{kind, h.id, value}, Call: int64(from), Return: int64(to),
	})
}

func (sim *simulation) recordAcquire(h *holder, started time.Duration) {
	sim.record(h, "acquire", 0, started, sim.now)
}

func (sim *simulation) recordRead(h *holder, n int, from time.Duration) {
	sim.record(h, "read", n, from, sim.now)
}

func (sim *simulation) recordWrite(h *holder, n int, from time.Duration) {
	sim.record(h, "write", n, from, sim.now)
}

func (sim *simulation) recordEnd(h *holder, to time.Duration) {
	if !h.closed {
		sim.record(h, "end", 0, h.acted, to)
	}
	h.closed = true
}

// check checks the whole history.
func (sim *simulation) check() {
	for i := range sim.names {
		if key := sim.key(i); !porcupine.CheckOperations(lockModel, sim.history[key]) {
			sim.violated(exclusion, "no lock could have the history of %s", key.Name)
		}
	}
	if sim.counts.spent != sim.counts.puts && sim.mutant.acquire == nil {
		sim.violated(budget, "%d puts were sent, %d paid for", sim.counts.puts, sim.counts.spent)
	}
}

// checkBlocking is called when a put is refused because of a row.
func (s *service) checkBlocking(row storedRow, p putInfo) {
	sim := s.sim
	most := row.put.lease + row.put.lease/500 + sim.guard + 4*time.Second
	most += row.put.process.clocksStopped + p.process.clocksStopped // nothing is promised for it
	if blocked := p.sent - row.put.from; blocked > most {
		sim.violated(termination, "%s is blocked for %v, at most %v are allowed", row.Key.Name, blocked, most)
	}
}

// checkQuiet checks that in the end every lock can be acquired, first by a new
// process, then by all that have survived, and that nothing is left behind.
func (sim *simulation) checkQuiet() {
	if sim.mutant.acquire != nil {
		return
	}
	sim.network = network{name: "quiet", latency: time.Millisecond}
	for i := range sim.names {
		if row, there := sim.service.rows[sim.key(i)]; there {
			left := row.Until.Time().Sub(sim.service.clock())
			if left > lock.DefaultMaxLease+sim.guard+10*time.Second {
				sim.violated(termination, "row %s has no end: %v left", row.Key.Name, left)
			}
			sim.now += max(left, 0) + 3*time.Second
		}
	}
	old := sim.processes
	sim.acquireAll(sim.connect(newMachine(sim)), 0)
	for _, p := range old {
		if !p.dead {
			sim.acquireAll(p, 10*time.Second)
			if p.timeouts != 0 {
				sim.violated(termination, "p%d: %d timers of requests are left", p.id, p.timeouts)
			}
		}
	}
	if n := len(sim.service.rows); n > 0 && len(sim.violations) == 0 {
		sim.violated(termination, "%d rows are left", n)
	}
}

// acquireAll lets p acquire and release each lock.
func (sim *simulation) acquireAll(p *process, wait time.Duration) {
	p.start(func(t *thread) {
		ctx := deadlineContext{context.Background(), p, p.machine.monotonic() + time.Hour}
		for i := range sim.names {
			t.started, t.turn, t.lease, t.waitEnd = sim.now, false, time.Minute, p.clock.ElapsedMax()+wait
			l, err := p.locks.Acquire(ctx, lock.Request{Key: sim.key(i), Lease: t.lease, Wait: wait, Spend: sim.spend})
			if err != nil {
				sim.violated(termination, "p%d: %s can't be acquired when all is quiet: %v", p.id, sim.key(i).Name, err)
				continue
			}
			l.Release(ctx)
		}
	})
	sim.play()
}

func (sim *simulation) spend() error {
	sim.counts.spent++
	return nil
}

func (sim *simulation) key(i int) lock.Key {
	return lock.Key{Tenant: "acme", Name: fmt.Sprintf("lock-%d", i)}
}
