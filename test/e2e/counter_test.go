package e2e

import (
	"fmt"
	"strconv"
	"testing"
)

const (
	processes  = 8
	increments = 200
	killed     = 2
)

// increment adds one to a number by a read and a write that only a lock
// protects. It logs each number that it has written.
const increment = `return function(event)
	local counters = native.db.open("counters")
	for i = 1, event.times do
		native.lock.turn("counter", { lease_ms = 3000, poll_ms = 10 }, function()
			local n = (counters:get("n") or 0) + 1
			counters:put("n", n)
			print(n)
		end)
	end
end`

const total = `return native.db.open("counters"):get("n")`

func startCounters(t *testing.T) (dir string, all []*process) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "increment.lua", increment)
	write(t, dir, "total.lua", total)
	event := fmt.Sprintf(`{"times":%d}`, increments)
	for range processes {
		all = append(all, start(t, fast, dir, "increment.lua", "--event", event, "--timeout", "50s"))
	}
	return dir, all
}

func TestCounterUnderLockLosesNothing(t *testing.T) {
	dir, all := startCounters(t)
	for i, p := range all {
		if code, _ := p.end(); code != 0 {
			t.Errorf("process %d: got exit code %d\n%s", i, code, p.log())
		}
	}
	if got, want := run(t, fast, dir, "total.lua"), strconv.Itoa(processes*increments); got != want {
		t.Errorf("got a sum of %s, want %s", got, want)
	}
}

func TestKilledProcessesLoseNoAnsweredWrite(t *testing.T) {
	dir, all := startCounters(t)
	written := map[string]int{} // log records of each number
	for i, p := range all {
		if i >= killed {
			continue
		}
		for range increments / 4 {
			written[p.next()]++
		}
		p.Process.Kill()
	}
	for i, p := range all {
		for n := p.next(); n != ""; n = p.next() {
			written[n]++
		}
		if code, _ := p.end(); i >= killed && code != 0 {
			t.Errorf("process %d: got exit code %d\n%s", i, code, p.log())
		}
	}
	sum, err := strconv.Atoi(run(t, fast, dir, "total.lua"))
	if err != nil {
		t.Fatal(err)
	}
	if least, most := len(written), len(written)+killed; sum < least || sum > most {
		t.Errorf("got a sum of %d, want %d..%d: every answered write, and at most one more of each killed process", sum, least, most)
	}
	for n, times := range written {
		if times != 1 {
			t.Errorf("%q was written %d times", n, times)
		}
	}
	if least := (processes - killed) * increments; len(written) < least {
		t.Errorf("got %d writes, want at least %d", len(written), least)
	}
}
