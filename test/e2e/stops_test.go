package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// insist adds one to each of a few numbers, with nothing but a lock between it
// and the others, and then doesn't end by itself: it works, waits and asks,
// and catches whatever it is told.
const insist = `return function(event)
	local counters = native.db.open("counters")
	local i = event.first
	while true do
		i = i % event.locks + 1
		local key = "n" .. i
		local function work()
			counters:put(key, (counters:get(key) or 0) + 1)
			while true do
				pcall(native.sleep, 2)
				pcall(native.deadline.remaining)
				pcall(string.rep, "x", 10000)
				if i % 3 == 0 then pcall(counters.get, counters, key) end
			end
		end
		if i % 2 == 0 then
			pcall(native.lock.turn, key, { lease_ms = event.lease, poll_ms = 100 }, work)
		else
			pcall(native.lock.with, key, { lease_ms = event.lease }, work)
		end
	end
end`

const (
	stopSoonAfter = 250 * time.Millisecond // its grant, a holder is stopped at the latest
	stopLease     = 400 * time.Millisecond
	// stopBeyond is how long after the end of its lease a stopped holder goes on
	// at the latest: before its row has run out.
	stopBeyond = 150 * time.Millisecond
	stopTimes  = 220
	stopKills  = 20 // of so many stops, one ends by SIGKILL
	stopLocks  = 6
)

// holder builds the program that counts its own native calls.
var holder = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(fast), "holder")
	if out, err := exec.Command("go", "build", "-o", path, "./holder").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s%w", out, err)
	}
	return path, nil
})

// stopping stops each holder under its lease and lets it go on when that is
// over.
type stopping struct {
	tb      *table
	proxy   *proxy
	running sync.WaitGroup
	done    chan struct{} // closed when there are enough

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	all    []*program
	killed map[int]bool
	times  int
}

// launch starts one more process. It needs s.mu.
func (s *stopping) launch() {
	t := s.tb.t
	n := len(s.all)
	path, _ := holder()
	p := &program{Cmd: exec.CommandContext(t.Context(), path, s.proxy.open().endpoint(), s.tb.name, stopLease.String(),
		"insist.lua", fmt.Sprintf(`{"first":%d,"locks":%d,"lease":%d}`, n, stopLocks, stopLease.Milliseconds())), t: t}
	p.Dir, p.Stdout, p.Stderr = s.tb.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION="+region, fmt.Sprint("GOMAXPROCS=", 1+n%2))
	if err := p.Start(); err != nil {
		t.Error(err)
		return
	}
	s.all = append(s.all, p)
}

// answered is told of each answer of the service.
func (s *stopping) answered(a arrival) {
	if a.partition != lockRows || a.op != "PutItem" || a.status != 200 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == stopTimes {
		return
	}
	s.times++
	kill := s.times%stopKills == 0
	stop := time.Duration(s.random.Int64N(int64(stopSoonAfter)))
	goOn := a.at.Add(stopLease + time.Duration(s.random.Int64N(int64(stopBeyond))))
	p := s.all[a.process].Process
	s.running.Go(func() {
		<-time.After(stop)
		p.Signal(syscall.SIGSTOP)
		<-time.After(time.Until(goOn))
		if kill {
			p.Kill()
		} else {
			p.Signal(syscall.SIGCONT)
		}
		s.stopped(a.process, kill)
	})
	if s.times == stopTimes {
		close(s.done)
	}
}

// stopped replaces a process that was killed.
func (s *stopping) stopped(process int, kill bool) {
	if !kill {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed[process] = true
	if s.times < stopTimes {
		s.launch()
	}
}

// testStops counts, in many stops, what a holder does after its lease.
func testStops(t *testing.T, tb *table) {
	if _, err := holder(); err != nil {
		t.Fatal(err)
	}
	write(t, tb.dir, "insist.lua", insist)
	s := &stopping{
		tb: tb, proxy: newProxy(t, tb.endpoint), done: make(chan struct{}),
		random: rand.New(rand.NewPCG(stopSeed, 2)), killed: map[int]bool{},
	}
	s.proxy.answered = s.answered
	s.mu.Lock()
	for range processes {
		s.launch()
	}
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(3 * time.Minute):
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("%d stops in 3 minutes, want %d", s.times, stopTimes)
	}
	s.running.Wait()
	sum := s.end(t)
	s.proxy.close()

	h := historyOf(s.proxy.requests(), stopLease)
	h.check(t, tb.sums())
	for _, text := range h.beyond {
		t.Errorf("after lease and guard: %s", text)
	}
	_, ranOut, _ := h.grants()
	if least := stopTimes / stopKills / 2; len(s.killed) != stopTimes/stopKills || ranOut < least {
		t.Errorf("%d processes were killed and %d rows ran out, want %d and %d at least", len(s.killed), ranOut, stopTimes/stopKills, least)
	}
	t.Logf("%d stops, %d of them ended by SIGKILL: %d leases, %d native calls under them, %d after; "+
		"%d requests arrived after a lease, by %v at most, and %d after lease and guard",
		s.times, len(s.killed), sum.Leases, sum.Calls, sum.Late, h.late, h.lag, len(h.beyond))
}

// counted is what a holder says.
type counted struct{ Leases, Calls, Late int }

// end ends all processes and adds up what they have counted.
func (s *stopping) end(t *testing.T) (sum counted) {
	for i, p := range s.all {
		if s.killed[i] {
			if p.Wait() == nil {
				t.Errorf("process %d was not killed", i)
			}
		} else {
			p.Process.Signal(syscall.SIGTERM)
			// The last ones may not have got so far as to wait for a signal.
			if err := p.Wait(); err != nil && err.Error() != "signal: terminated" {
				t.Errorf("process %d: %v: %s", i, err, p.stderr.String())
			}
		}
		lines := strings.Fields(p.stdout.String())
		if len(lines) == 0 {
			continue // it has given no lease up yet
		}
		var seen counted
		last := lines[len(lines)-1]
		if err := json.Unmarshal([]byte(last), &seen); err != nil {
			t.Fatalf("process %d: %v: %s", i, err, last)
		}
		if seen.Late != 0 {
			t.Errorf("process %d: %d of %d native calls began after their lease", i, seen.Late, seen.Calls)
		}
		sum = counted{sum.Leases + seen.Leases, sum.Calls + seen.Calls, sum.Late + seen.Late}
	}
	if least := stopTimes / 2; sum.Leases < least || sum.Calls < sum.Leases {
		t.Errorf("got %+v, want %d leases at least and calls under each", sum, least)
	}
	return sum
}
