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

// simulation is one simulated history.
type simulation struct {
	plan
	mutant mutant
	rnd    *rand.Rand
	only   property      // look at nothing else, unless it is empty
	log    func(string) // is told everything, if it isn't nil

	now     time.Duration // true time since the beginning
	queue   eventQueue
	handled int
	current *thread // who runs; nil between two events
	threads []*thread
	processes     []*process

	callers int // that haven't made all their calls
	service *service
	holders int
	owners  map[string]int       // numbers for the log
	lastHolder  map[lock.Key]*holder // who acquired each lock last
	history map[lock.Key][]porcupine.Operation

	counts counts
	violations  []string // what must not happen, but did
}

// counts say how much happened.
type counts struct {
	requests                  int
	acquired, refused, failed int // calls
	stopped, overlaps         int // holders that reached an end, and those that weren't alone
	kept, resolved, queued      int // rows kept, answers lost and made good, waits behind callers of the same process
	crashes                   int
	spent, puts               int
}

// run runs the world of a seed to its end.
func run(seed uint64, broken mutant, only property, log func(string)) *simulation {
	rnd := rand.New(rand.NewPCG(seed, 0x7469646c))
	sim := &simulation{
		plan: newPlan(rnd), mutant: broken, only: only, rnd: rnd, log: log,
		owners:  make(map[string]int),
		lastHolder:  make(map[lock.Key]*holder),
		history: make(map[lock.Key][]porcupine.Operation),
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

// play lets events happen until there are none, or something is wrong.
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

// at lets something happen at a true time, in the order of asking where times
// are equal.
func (sim *simulation) at(t time.Duration, happen func()) timer {
	return sim.queue.push(max(t, sim.now), happen)
}

func (sim *simulation) after(d time.Duration, happen func()) timer { return sim.at(sim.now+d, happen) }

// violated is called when a promise is broken.
func (sim *simulation) violated(broken property, format string, args ...any) {
	if sim.only != "" && sim.only != broken {
		return
	}
	if broken == exclusion {
		sim.counts.overlaps++
	}
	text := fmt.Sprintf(format, args...)
	sim.violations = append(sim.violations, fmt.Sprintf("%v: %s", sim.now, text))
	sim.logf("WRONG: %s", text)
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

// nameOf names an owner in the log: owners are random, and a log is not.
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
