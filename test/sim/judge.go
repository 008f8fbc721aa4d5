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

// promise is what a world can break.
type promise string

const (
	stops    promise = "stops"    // nothing is done after the lease
	excludes promise = "excludes" // two holders never overlap
	ends     promise = "ends"     // calls end, rows run out
	costs    promise = "costs"    // what is sent is paid for
	tells    promise = "tells"    // false means that somebody holds it
)

// forever is when something ends that nobody saw the end of.
const forever = time.Duration(math.MaxInt64)

// did is one operation of a holder on a lock, or on the counter that the lock
// guards.
type did struct {
	verb  string // "acquire", "read", "write", "end"
	by    int    // the holder
	value int    // of the counter
}

// leased is the state of a lock and its counter.
type leased struct {
	holder int // 0: nobody
	value  int
}

// leaseMutex is what a lock is: one holder at a time, and only the holder sees
// and changes the counter. A lease ends at some moment after the holder did
// something for the last time, and before its release has returned, if it has.
var leaseMutex = porcupine.Model{
	Init: func() any { return leased{} },
	Step: func(state, input, output any) (bool, any) {
		s, op := state.(leased), input.(did)
		switch op.verb {
		case "acquire":
			return s.holder == 0, leased{op.by, s.value}
		case "read":
			return s.holder == op.by && s.value == op.value, s
		case "write":
			return s.holder == op.by, leased{op.by, op.value}
		default:
			return s.holder == op.by, leased{0, s.value}
		}
	},
}

func (w *world) record(h *holder, verb string, value int, from, to time.Duration) {
	w.history[h.key] = append(w.history[h.key], porcupine.Operation{
		ClientId: h.id, Input: did{verb, h.id, value}, Call: int64(from), Return: int64(to),
	})
}

func (w *world) recordAcquire(h *holder, asked time.Duration) {
	w.record(h, "acquire", 0, asked, w.now)
}

func (w *world) recordRead(h *holder, n int, from time.Duration) { w.record(h, "read", n, from, w.now) }

func (w *world) recordWrite(h *holder, n int, from time.Duration) {
	w.record(h, "write", n, from, w.now)
}

func (w *world) recordEnd(h *holder, to time.Duration) {
	if !h.closed {
		w.record(h, "end", 0, h.acted, to)
	}
	h.closed = true
}

// judge looks at the whole history.
func (w *world) judge() {
	for i := range w.names {
		if key := w.key(i); !porcupine.CheckOperations(leaseMutex, w.history[key]) {
			w.wrong(excludes, "no lock could have the history of %s", key.Name)
		}
	}
	if w.counts.spent != w.counts.puts && w.broken.acquire == nil {
		w.wrong(costs, "%d puts were sent, %d paid for", w.counts.puts, w.counts.spent)
	}
}

// checkBlocking is called when a put is refused because of a row.
func (s *service) checkBlocking(row stored, p put) {
	w := s.world
	most := row.put.lease + row.put.lease/500 + w.guard + 4*time.Second
	most += row.put.process.lost + p.process.lost // both clocks standing: nothing is promised
	if blocked := p.sent - row.put.from; blocked > most {
		w.wrong(ends, "%s is blocked for %v, at most %v are allowed", row.Key.Name, blocked, most)
	}
}

// checkQuiet checks that in the end everything can be had, first by a new
// process, then by all that have lived through this, and that nothing stays.
func (w *world) checkQuiet() {
	if w.broken.acquire != nil {
		return
	}
	w.network = network{name: "quiet", latency: time.Millisecond}
	for i := range w.names {
		if row, there := w.service.rows[w.key(i)]; there {
			left := row.Until.Time().Sub(w.service.clock())
			if left > lock.DefaultMaxLease+w.guard+10*time.Second {
				w.wrong(ends, "row %s has no end: %v left", row.Key.Name, left)
			}
			w.now += max(left, 0) + 3*time.Second
		}
	}
	old := w.all
	w.takeAll(w.connect(newMachine(w)), 0)
	for _, p := range old {
		if !p.dead {
			w.takeAll(p, 10*time.Second)
			if p.timeouts != 0 {
				w.wrong(ends, "p%d: %d timers of requests are left", p.id, p.timeouts)
			}
		}
	}
	if n := len(w.service.rows); n > 0 && len(w.found) == 0 {
		w.wrong(ends, "%d rows are left", n)
	}
}

// takeAll lets p take and free each lock.
func (w *world) takeAll(p *process, wait time.Duration) {
	p.start(func(t *thread) {
		ctx := until{context.Background(), p, p.machine.monotonic() + time.Hour}
		for i := range w.names {
			t.asked, t.turn, t.lease, t.waitEnd = w.now, false, time.Minute, p.clock.ElapsedMax()+wait
			l, err := p.locks.Acquire(ctx, lock.Request{Key: w.key(i), Lease: t.lease, Wait: wait, Spend: w.spend})
			if err != nil {
				w.wrong(ends, "p%d: %s can't be had when all is quiet: %v", p.id, w.key(i).Name, err)
				continue
			}
			l.Release(ctx)
		}
	})
	w.play()
}

func (w *world) spend() error {
	w.counts.spent++
	return nil
}

func (w *world) key(i int) lock.Key {
	return lock.Key{Tenant: "acme", Name: fmt.Sprintf("lock-%d", i)}
}
