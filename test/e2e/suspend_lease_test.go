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

// endlessWork adds one to each of a few numbers, by a read and a write that only a
// lock protects. Under each lock it then runs forever: it works, sleeps, makes
// requests, and catches every error.
const endlessWork = `return function(event)
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
	suspendSoonAfter = 250 * time.Millisecond // after its grant a holder is suspended at the latest
	suspendLease     = 400 * time.Millisecond
	// suspendBeyond is how long after its lease a suspended holder is resumed at
	// the latest, which is before its row has run out.
	suspendBeyond   = 150 * time.Millisecond
	suspendTimes    = 220
	suspendsPerKill = 20 // one suspension in this many ends by SIGKILL
	suspendLocks    = 6
)

// holder builds the program that counts its own native calls.
var holder = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(fast), "holder")
	if out, err := exec.Command("go", "build", "-o", path, "./holder").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s%w", out, err)
	}
	return path, nil
})

// leaseSuspender suspends each holder during its lease and resumes it after the
// lease.
type leaseSuspender struct {
	tb      *table
	proxy   *proxy
	running sync.WaitGroup
	done    chan struct{} // closed after suspendTimes suspensions

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	all    []*program
	killed map[int]bool
	times  int
}

// launch starts one more process. The caller holds s.mu.
func (s *leaseSuspender) launch() {
	t := s.tb.t
	n := len(s.all)
	path, _ := holder()
	p := &program{Cmd: exec.CommandContext(t.Context(), path, s.proxy.open().endpoint(), s.tb.name, suspendLease.String(),
		"insist.lua", fmt.Sprintf(`{"first":%d,"locks":%d,"lease":%d}`, n, suspendLocks, suspendLease.Milliseconds())), t: t}
	p.Dir, p.Stdout, p.Stderr = s.tb.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION="+region, fmt.Sprint("GOMAXPROCS=", 1+n%2))
	if err := p.Start(); err != nil {
		t.Error(err)
		return
	}
	s.all = append(s.all, p)
}

// suspend suspends the process of each answer that grants a lock. The proxy
// calls it for each answer of the service.
func (s *leaseSuspender) suspend(a arrival) {
	if a.partition != lockRows || a.op != "PutItem" || a.status != 200 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == suspendTimes {
		return
	}
	s.times++
	kill := s.times%suspendsPerKill == 0
	stop := time.Duration(s.random.Int64N(int64(suspendSoonAfter)))
	resume := a.at.Add(suspendLease + time.Duration(s.random.Int64N(int64(suspendBeyond))))
	p := s.all[a.process].Process
	s.running.Go(func() {
		<-time.After(stop)
		p.Signal(syscall.SIGSTOP)
		<-time.After(time.Until(resume))
		if kill {
			p.Kill()
		} else {
			p.Signal(syscall.SIGCONT)
		}
		s.replaceKilled(a.process, kill)
	})
	if s.times == suspendTimes {
		close(s.done)
	}
}

// replaceKilled starts a process for one that was killed.
func (s *leaseSuspender) replaceKilled(process int, kill bool) {
	if !kill {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed[process] = true
	if s.times < suspendTimes {
		s.launch()
	}
}

// testHoldersSuspendedPastTheirLease counts, over many suspensions, the calls
// that holders make after their leases.
func testHoldersSuspendedPastTheirLease(t *testing.T, tb *table) {
	if _, err := holder(); err != nil {
		t.Fatal(err)
	}
	write(t, tb.dir, "insist.lua", endlessWork)
	s := &leaseSuspender{
		tb: tb, proxy: newProxy(t, tb.endpoint), done: make(chan struct{}),
		random: rand.New(rand.NewPCG(suspendSeed, 2)), killed: map[int]bool{},
	}
	s.proxy.answered = s.suspend
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
		t.Fatalf("%d suspensions in 3 minutes, want %d", s.times, suspendTimes)
	}
	s.running.Wait()
	sum := s.collect(t)
	s.proxy.close()

	h := historyOf(s.proxy.requests(), suspendLease)
	h.check(t, tb.sums())
	for _, text := range h.afterGuard {
		t.Errorf("after lease and guard: %s", text)
	}
	_, ranOut, _ := h.grants()
	if least := suspendTimes / suspendsPerKill / 2; len(s.killed) != suspendTimes/suspendsPerKill || ranOut < least {
		t.Errorf("%d processes were killed and %d rows ran out, want %d and at least %d", len(s.killed), ranOut, suspendTimes/suspendsPerKill, least)
	}
	t.Logf("%d suspensions, %d of them ended by SIGKILL: %d leases, %d native calls under them, %d after; "+
		"%d requests arrived after a lease, at most %v late, and %d after lease and guard",
		s.times, len(s.killed), sum.Leases, sum.Calls, sum.Late, h.afterLease, h.afterLeaseMax, len(h.afterGuard))
}

// callCounts is the output of the program holder.
type callCounts struct{ Leases, Calls, Late int }

// collect ends all processes and sums up their counts.
func (s *leaseSuspender) collect(t *testing.T) (sum callCounts) {
	for i, p := range s.all {
		if s.killed[i] {
			if p.Wait() == nil {
				t.Errorf("process %d was not killed", i)
			}
		} else {
			p.Process.Signal(syscall.SIGTERM)
			// The newest processes may not handle the signal yet.
			if err := p.Wait(); err != nil && err.Error() != "signal: terminated" {
				t.Errorf("process %d: %v: %s", i, err, p.stderr.String())
			}
		}
		lines := strings.Fields(p.stdout.String())
		if len(lines) == 0 {
			continue // it has released no lock yet
		}
		var counts callCounts
		last := lines[len(lines)-1]
		if err := json.Unmarshal([]byte(last), &counts); err != nil {
			t.Fatalf("process %d: %v: %s", i, err, last)
		}
		if counts.Late != 0 {
			t.Errorf("process %d: %d of %d native calls began after their lease", i, counts.Late, counts.Calls)
		}
		sum = callCounts{sum.Leases + counts.Leases, sum.Calls + counts.Calls, sum.Late + counts.Late}
	}
	if least := suspendTimes / 2; sum.Leases < least || sum.Calls < sum.Leases {
		t.Errorf("got %+v, want at least %d leases and calls under each", sum, least)
	}
	return sum
}
