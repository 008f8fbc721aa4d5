package e2e

import (
	"fmt"
	"strconv"
	"testing"
)

const (
	processes  = 8
	increments = 200
)

// increment reads a number and writes it back one higher, with nothing but a
// lock between it and the others. It logs each number that it has written.
const increment = `return function(event)
	local counters = native.db.open("counters")
	for i = 1, event.times do
		native.lock.turn("counter", { poll_ms = event.poll_ms }, function()
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
	event := fmt.Sprintf(`{"times":%d,"poll_ms":2}`, increments)
	for range processes {
		all = append(all, start(t, dir, "increment.lua", "--event", event, "--timeout", "50s"))
	}
	return dir, all
}

func TestProcessesThatCountUnderOneLockLoseNothing(t *testing.T) {
	dir, all := startCounters(t)
	for i, p := range all {
		if code, _ := p.end(); code != 0 {
			t.Errorf("process %d: got exit code %d\n%s", i, code, p.log())
		}
	}
	if got, want := run(t, dir, "total.lua"), strconv.Itoa(processes*increments); got != want {
		t.Errorf("got a sum of %s, want %s", got, want)
	}
}
