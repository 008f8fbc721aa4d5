package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 1, "")
var stopFlag = flag.Duration("stop", 4*time.Second, "")
var leaseFlag = flag.Duration("lease", time.Second, "")
var forFlag = flag.Int("for", 15, "")
var stopsFlag = flag.Int("stops", 12, "")
var procFlag = flag.Int("procs", 8, "")
var countersFlag = flag.Int("counters", 3, "")
var rarityFlag = flag.Int("rarity", 150, "")
var pointFlag = flag.Duration("point", 10*time.Millisecond, "")

// countAround adds one to each of a few numbers in turn until event.seconds
// are over, with nothing but a lock between it and the others. Trouble is met
// by going on with the next number.
const countAround = `return function(event)
	local counters = native.db.open("counters")
	local stop, i = native.time() + event.seconds, event.first
	while native.time() < stop do
		i = i % event.counters + 1
		local key = "n" .. i
		pcall(native.lock.with, key, { lease_ms = event.lease, wait_ms = 100 }, function()
			counters:put(key, (counters:get(key) or 0) + 1)
		end)
	end
end`

// stopper stops processes for stopTime, which is longer than a row of theirs
// keeps others out, soon after they were granted a lock.
type stopper struct {
	all []*program

	mu      sync.Mutex // guards what follows
	random  *rand.Rand
	left    int // how many stops are to come
	stopped map[int]bool
	running sync.WaitGroup
}

const (
	stopTime = 4 * time.Second
)

// granted is told of each answer of the service.
func (s *stopper) granted(a arrival) {
	if a.partition != lockRows || a.op != "PutItem" || a.status != 200 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || s.stopped[a.process] || len(s.stopped) >= len(s.all)/2 {
		return
	}
	point := time.Duration(s.random.Int64N(int64(*pointFlag)))
	s.left--
	s.stopped[a.process] = true
	s.running.Go(func() {
		<-time.After(point)
		p := s.all[a.process].Process
		p.Signal(syscall.SIGSTOP)
		<-time.After(*stopFlag)
		p.Signal(syscall.SIGCONT)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.stopped, a.process)
	})
}

func testStopped(t *testing.T, tb *table) {
	lease := *leaseFlag
	write(t, tb.dir, "count.lua", countAround)
	p := newProxy(t, tb.endpoint)
	p.seed, p.rarity = *seedFlag, *rarityFlag
	s := &stopper{random: rand.New(rand.NewPCG(*seedFlag, 99)), left: *stopsFlag, stopped: map[int]bool{}}
	p.answered = s.granted
	for i := range *procFlag {
		c := tb.command(p.open().endpoint(), "run", "count.lua",
			"--event", fmt.Sprintf(`{"lease":%d,"seconds":%d,"counters":%d,"first":%d}`, lease.Milliseconds(), *forFlag, *countersFlag, i), "--timeout", "550s")
		c.Env = append(c.Env, fmt.Sprint("GOMAXPROCS=", 1+i%2))
		s.all = append(s.all, c)
	}
	for _, c := range s.all {
		tb.start(c)
	}
	for i, c := range s.all {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, c.stderr.String())
		}
	}
	s.running.Wait()
	p.close()
	h := historyOf(p.requests(), lease)
	h.check(t, tb.sums())
	grants, ranOut, gap := h.grants()
	t.Logf("seed %d: %d requests, %d grants, %d of them over a row that had run out, longest gap %v; %d requests after the lease, by %v at most; stops left %d; sums %v",
		*seedFlag, len(p.requests()), grants, ranOut, gap, h.late, h.lag, s.left, tb.sums())
}
