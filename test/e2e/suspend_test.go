package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

// countRoundRobin adds one to each of a few numbers in turn for event.seconds, by
// a read and a write that only a lock protects. After an error it goes on with
// the next number.
const countRoundRobin = `return function(event)
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

// suspendSeed seeds the processes, the network and the signals, as far as they
// are repeatable.
const (
	suspendSeed    = 1
	suspendSeconds = 15 // for which the processes count
	suspensions    = 12 // at most
	// suspendTime is longer than a row with a lease of 1 s lasts.
	suspendTime = 4 * time.Second
	// suspendWithin is how long after its grant a holder is suspended at most:
	// about as long as it takes to count.
	suspendWithin = 10 * time.Millisecond
)

// suspender suspends processes soon after they were granted a lock, at most half
// of them at a time.
type suspender struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards what follows
	all     []*program
	random  *rand.Rand
	left    int // suspensions that are left
	stopped map[int]bool
}

// suspend suspends the process of some answers that grant a lock. The proxy
// calls it for each answer of the service.
func (s *suspender) suspend(a arrival) {
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
	within := time.Duration(s.random.Int64N(int64(suspendWithin)))
	holder := s.all[a.process].Process
	s.running.Go(func() {
		<-time.After(within)
		holder.Signal(syscall.SIGSTOP)
		<-time.After(suspendTime)
		holder.Signal(syscall.SIGCONT)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.stopped, a.process)
	})
}

func testSuspendedProcesses(t *testing.T, tb *table) {
	write(t, tb.dir, "count.lua", countRoundRobin)
	p := newProxy(t, tb.endpoint)
	p.seed, p.faultEvery = suspendSeed, 150
	s := &suspender{random: rand.New(rand.NewPCG(suspendSeed, 1)), left: suspensions, stopped: map[int]bool{}}
	p.answered = s.suspend
	s.mu.Lock()
	for i := range processes {
		c := tb.command(p.open().endpoint(), "run", "count.lua", "--timeout", "50s",
			"--event", fmt.Sprintf(`{"seconds":%d,"counters":6,"first":%d}`, suspendSeconds, i))
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
		t.Error("no process was suspended for so long that another one took over")
	}
	t.Logf("%d requests, %d grants, %d of them over a row that had run out; %d suspensions; %d requests after a lease, by %v at most",
		len(record), grants, ranOut, suspensions-s.left, h.afterLease, h.afterLeaseMax)
}
