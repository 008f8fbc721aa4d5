package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

// countAround adds one to each of a few numbers in turn until event.seconds
// are over, with nothing but a lock between it and the others. Trouble is met
// by going on with the next number.
const countAround = `return function(event)
	local counters = native.db.open("counters")
	local stop, i = native.time() + event.seconds, event.first
	while native.time() < stop do
		i = i % event.counters + 1
		local key = "n" .. i
		pcall(native.lock.with, key, { lease_ms = 1000, wait_ms = 100 }, function()
			counters:put(key, (counters:get(key) or 0) + 1)
		end)
	end
end`

// What the processes, the network and the signals do depends on stopSeed, as
// far as a machine can repeat it.
const (
	stopSeed    = 1
	stopSeconds = 15 // how long the processes count
	stops       = 12 // at most
	// stopTime is longer than the row of a lease of 1 s keeps others out.
	stopTime = 4 * time.Second
	// stopWithin is how long after its grant a holder is stopped at most: about
	// as long as it takes to count.
	stopWithin = 10 * time.Millisecond
)

// stopper stops processes soon after they were granted a lock, half of them at
// a time at most.
type stopper struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards what follows
	all     []*program
	random  *rand.Rand
	left    int // how many stops are to come
	stopped map[int]bool
}

// answered is told of each answer of the service.
func (s *stopper) answered(a arrival) {
	if a.partition != lockRows || a.op != "PutItem" || a.status != 200 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || s.random.IntN(3) > 0 || s.stopped[a.process] || len(s.stopped) >= len(s.all)/2 {
		return
	}
	s.left--
	s.stopped[a.process] = true
	within := time.Duration(s.random.Int64N(int64(stopWithin)))
	holder := s.all[a.process].Process
	s.running.Go(func() {
		<-time.After(within)
		holder.Signal(syscall.SIGSTOP)
		<-time.After(stopTime)
		holder.Signal(syscall.SIGCONT)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.stopped, a.process)
	})
}

func testStopped(t *testing.T, tb *table) {
	write(t, tb.dir, "count.lua", countAround)
	p := newProxy(t, tb.endpoint)
	p.seed, p.rarity = stopSeed, 150
	s := &stopper{random: rand.New(rand.NewPCG(stopSeed, 1)), left: stops, stopped: map[int]bool{}}
	p.answered = s.answered
	s.mu.Lock()
	for i := range processes {
		c := tb.command(p.open().endpoint(), "run", "count.lua", "--timeout", "50s",
			"--event", fmt.Sprintf(`{"seconds":%d,"counters":6,"first":%d}`, stopSeconds, i))
		c.Env = append(c.Env, fmt.Sprint("GOMAXPROCS=", 1+i%2))
		c.start()
		s.all = append(s.all, c)
	}
	s.mu.Unlock()
	for _, c := range s.all {
		c.end()
	}
	s.running.Wait()
	p.close()
	record := p.requests()
	h := historyOf(record, time.Second)
	h.check(t, tb.sums())
	grants, ranOut, _ := h.grants()
	if ranOut == 0 {
		t.Error("nobody was stopped for so long that another one took over")
	}
	t.Logf("%d requests, %d grants, %d of them over a row that had run out; %d stops; %d requests after a lease, by %v at most",
		len(record), grants, ranOut, stops-s.left, h.late, h.lag)
}
