package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tidelock-lua/tidelock/native/lock"
)

// eventsMax ends a simulation that would never end by itself.
const eventsMax = 2_000_000

// simulation is one simulated history.
type simulation struct {
	plan
	mutant mutant
	rnd    *rand.Rand
	only   property     // the property to check; all if empty
	log    func(string) // gets a line for everything that happens; nil disables it

	now       time.Duration // true time since the beginning
	queue     eventQueue
	handled   int
	current   *thread // that runs; nil between two events
	threads   []*thread
	processes []*process

	callers    int // that have calls left
	service    *service
	holders    int
	owners     map[string]int       // numbers for the log
	lastHolder map[lock.Key]*holder // that acquired each lock last
	history    map[lock.Key][]porcupine.Operation

	counts     counts
	violations []string // of properties
}

// counts are how often things happened.
type counts struct {
	requests                  int
	acquired, refused, failed int // calls
	stopped, overlaps         int // holders stopped by an end, and violations of exclusion
	kept, resolved, queued    int // rows left to run out, ambiguities resolved, waits in the queue of a process
	crashes                   int
	spent, puts               int
}

// run runs the simulation of a seed to its end.
func run(seed uint64, m mutant, only property, log func(string)) *simulation {
	rnd := rand.New(rand.NewPCG(seed, 0x7469646c))
	sim := &simulation{
		plan: newPlan(rnd), mutant: m, only: only, rnd: rnd, log: log,
		owners:     make(map[string]int),
		lastHolder: make(map[lock.Key]*holder),
		history:    make(map[lock.Key][]porcupine.Operation),
	}
	sim.service = newService(sim)
	sim.logf("plan %+v", sim.plan)
	for range sim.processCount {
		sim.boot()
	}
	sim.play()
	if len(sim.violations) == 0 {
		sim.checkQuiet()
	}
	for _, t := range sim.threads {
		t.stop()
	}
	sim.check()
	return sim
}

// play lets events happen until there are none, or a property is violated.
func (sim *simulation) play() {
	for len(sim.queue.heap) > 0 && len(sim.violations) == 0 {
		e := sim.queue.pop()
		sim.now = e.at
		happen := e.happen
		sim.queue.recycle(e)
		happen()
		if sim.handled++; sim.handled > eventsMax {
			sim.violated(termination, "no end after %d events", sim.handled)
		}
	}
}

func (sim *simulation) over() bool { return sim.callers == 0 }

// at schedules an event at a true time. Of two events at one time, the one
// scheduled first happens first.
func (sim *simulation) at(t time.Duration, happen func()) timer {
	return sim.queue.push(max(t, sim.now), happen)
}

func (sim *simulation) after(d time.Duration, happen func()) timer { return sim.at(sim.now+d, happen) }

// violated records a violation of p.
func (sim *simulation) violated(p property, format string, args ...any) {
	if sim.only != "" && sim.only != p {
		return
	}
	if p == exclusion {
		sim.counts.overlaps++
	}
	text := fmt.Sprintf(format, args...)
	sim.violations = append(sim.violations, fmt.Sprintf("%v: %s", sim.now, text))
	sim.logf("VIOLATION: %s", text)
}

func (sim *simulation) logf(format string, args ...any) {
	if sim.log != nil {
		sim.log(fmt.Sprintf("%14v  ", sim.now) + fmt.Sprintf(format, args...))
	}
}

// number numbers requests for the log.
func (sim *simulation) number() int {
	sim.counts.requests++
	return sim.counts.requests
}

// nameOf names an owner in the log: owners are random, which a log may not be.
func (sim *simulation) nameOf(owner string) string {
	n, ok := sim.owners[owner]
	if !ok {
		n = len(sim.owners) + 1
		sim.owners[owner] = n
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
	c.resolved += d.resolved
	c.queued += d.queued
	c.crashes += d.crashes
	c.spent += d.spent
	c.puts += d.puts
}
