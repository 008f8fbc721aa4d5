package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tidelock-lua/tidelock/native/lock"
)

// eventsMax ends a world that would never end by itself.
const eventsMax = 2_000_000

// world is one simulated history.
type world struct {
	plan
	broken mutant
	rnd    *rand.Rand
	only   promise      // look at nothing else, unless it is empty
	log    func(string) // is told everything, if it isn't nil

	now     time.Duration // true time since the beginning
	queue   events
	handled int
	current *thread // who runs; nil between two events
	threads []*thread
	all     []*process

	callers int // that haven't made all their calls
	service *service
	holders int
	owners  map[string]int       // numbers for the log
	holder  map[lock.Key]*holder // who acquired each lock last
	history map[lock.Key][]porcupine.Operation

	counts counts
	found  []string // what must not happen, but did
}

// counts say how much happened.
type counts struct {
	requests                  int
	acquired, refused, failed int // calls
	stopped, overlaps         int // holders that reached an end, and those that weren't alone
	kept, healed, queued      int // rows kept, answers lost and made good, waits behind callers of the same process
	crashes                   int
	spent, puts               int
}

// run runs the world of a seed to its end.
func run(seed uint64, broken mutant, only promise, log func(string)) *world {
	rnd := rand.New(rand.NewPCG(seed, 0x7469646c))
	w := &world{
		plan: newPlan(rnd), broken: broken, only: only, rnd: rnd, log: log,
		owners:  make(map[string]int),
		holder:  make(map[lock.Key]*holder),
		history: make(map[lock.Key][]porcupine.Operation),
	}
	w.service = newService(w)
	w.logf("plan %+v", w.plan)
	for range w.processes {
		w.boot()
	}
	w.play()
	if len(w.found) == 0 {
		w.checkQuiet()
	}
	for _, t := range w.threads {
		t.stop()
	}
	w.judge()
	return w
}

// play lets events happen until there are none, or something is wrong.
func (w *world) play() {
	for len(w.queue.heap) > 0 && len(w.found) == 0 {
		e := w.queue.pop()
		w.now = e.at
		happen := e.happen
		w.queue.recycle(e)
		happen()
		if w.handled++; w.handled > eventsMax {
			w.wrong(ends, "no end after %d events", w.handled)
		}
	}
}

func (w *world) over() bool { return w.callers == 0 }

// at lets something happen at a true time, in the order of asking where times
// are equal.
func (w *world) at(t time.Duration, happen func()) appointment {
	return w.queue.push(max(t, w.now), happen)
}

func (w *world) after(d time.Duration, happen func()) appointment { return w.at(w.now+d, happen) }

// wrong is called when a promise is broken.
func (w *world) wrong(broken promise, format string, args ...any) {
	if w.only != "" && w.only != broken {
		return
	}
	if broken == excludes {
		w.counts.overlaps++
	}
	text := fmt.Sprintf(format, args...)
	w.found = append(w.found, fmt.Sprintf("%v: %s", w.now, text))
	w.logf("WRONG: %s", text)
}

func (w *world) logf(format string, args ...any) {
	if w.log != nil {
		w.log(fmt.Sprintf("%14v  ", w.now) + fmt.Sprintf(format, args...))
	}
}

// number numbers requests for the log.
func (w *world) number() int {
	w.counts.requests++
	return w.counts.requests
}

// nameOf names an owner in the log: owners are random, and a log is not.
func (w *world) nameOf(owner string) string {
	n, ok := w.owners[owner]
	if !ok {
		n = len(w.owners) + 1
		w.owners[owner] = n
	}
	return fmt.Sprintf("o%d", n)
}

func (c *counts) add(d counts) {
	c.requests += d.requests
	c.acquired += d.acquired
	c.stopped += d.stopped
	c.overlaps += d.overlaps
	c.refused += d.refused
	c.failed += d.failed
	c.kept += d.kept
	c.healed += d.healed
	c.queued += d.queued
	c.crashes += d.crashes
	c.spent += d.spent
	c.puts += d.puts
}
