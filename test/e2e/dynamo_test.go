package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// TestLocksOnDynamoDB runs the program against one emulator, which takes
// seconds to start; each test has a table of its own.
func TestLocksOnDynamoDB(t *testing.T) {
	t.Parallel()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	s := &service{endpoint: dynamolocal.Start(t)}
	for name, test := range map[string]func(*testing.T, *table){
		"processes that count under one lock lose nothing, two killed among them": testKilled,
		"stopped processes in a bad network overlap with nobody":                  testStopped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s.create(t))
		})
	}
}

// service is an emulator.
type service struct {
	endpoint string
	tables   atomic.Int32
}

// table is a table on it, with a folder for scripts.
type table struct {
	t              *testing.T
	name, endpoint string
	dir            string
}

// create makes a table as an operator does.
func (s *service) create(t *testing.T) *table {
	t.Helper()
	tb := &table{t: t, name: fmt.Sprint("table-", s.tables.Add(1)), endpoint: s.endpoint, dir: t.TempDir()}
	if got, want := tb.output(tb.command(s.endpoint, "table", "create", "--yes")), "can be used"; !strings.Contains(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	return tb
}

// program is a run of the program that uses the table.
type program struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// command prepares a run. One that outlives its test is killed.
func (tb *table) command(endpoint string, args ...string) *program {
	args = append(args, "--db-table", tb.name, "--db-region", "eu-west-1", "--db-endpoint", endpoint)
	p := &program{Cmd: exec.CommandContext(tb.t.Context(), fast, args...)}
	p.Dir, p.Stdout, p.Stderr = tb.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	return p
}

// start starts a command.
func (tb *table) start(p *program) *program {
	tb.t.Helper()
	if err := p.Start(); err != nil {
		tb.t.Fatal(err)
	}
	return p
}

// output runs a command and returns what it printed.
func (tb *table) output(p *program) string {
	tb.t.Helper()
	if err := p.Run(); err != nil {
		tb.t.Fatalf("%v\n%s%s", err, p.stdout.String(), p.stderr.String())
	}
	return strings.TrimSuffix(p.stdout.String(), "\n")
}

// sums reads the counters.
func (tb *table) sums() (sums map[string]int) {
	tb.t.Helper()
	write(tb.t, tb.dir, "sums.lua", `
		local sums = {}
		for key, n in native.db.open("counters"):each{} do sums[key] = n end
		return sums`)
	text := tb.output(tb.command(tb.endpoint, "run", "sums.lua"))
	if err := json.Unmarshal([]byte(text), &sums); err != nil {
		tb.t.Fatalf("%v: %s", err, text)
	}
	return sums
}

// countInTurn adds one to a number event.times times, with nothing but a lock
// between it and the others.
const countInTurn = `return function(event)
	local counters = native.db.open("counters")
	for i = 1, event.times do
		native.lock.turn("n", { lease_ms = 2000, poll_ms = 50 }, function()
			counters:put("n", (counters:get("n") or 0) + 1)
		end)
	end
end`

func testKilled(t *testing.T, tb *table) {
	const lease = 2 * time.Second
	write(t, tb.dir, "count.lua", countInTurn)
	p := newProxy(t, tb.endpoint)
	var all []*program
	kill := map[int]int{0: increments / 4, 1: increments / 2} // at which of its writes a process is killed
	writes := map[int]int{}
	p.answered = func(a arrival) {
		if n, ok := kill[a.process]; ok && a.op == "PutItem" && a.partition == entries {
			if writes[a.process]++; writes[a.process] == n {
				all[a.process].Process.Kill()
			}
		}
	}
	for range processes {
		all = append(all, tb.command(p.open().endpoint(), "run", "count.lua",
			"--event", fmt.Sprintf(`{"times":%d}`, increments), "--timeout", "55s"))
	}
	for _, c := range all {
		tb.start(c)
	}
	for i, c := range all {
		if err := c.Wait(); err != nil && kill[i] == 0 {
			t.Errorf("process %d: %v\n%s", i, err, c.stderr.String())
		}
	}
	p.close()
	h := historyOf(p.requests(), lease)
	h.check(t, tb.sums())
	grants, afterRunOut, gap := h.grants()
	t.Logf("%d requests, %d grants, %d after a crash, longest gap %v, %d late, lag %v", len(p.requests()), grants, afterRunOut, gap, h.late, h.lag)
}
