package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// TestLocksOnDynamoDB runs the program against one emulator, which takes seconds
// to start. Each subtest has a table of its own.
func TestLocksOnDynamoDB(t *testing.T) {
	t.Parallel()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	s := &service{endpoint: dynamolocal.Start(t)}
	// It runs alone, because a first answer that takes more than half a second
	// makes a process ask for the table's time twice.
	t.Run("Lock/CostsTwoRequests", func(t *testing.T) { testCosts(t, s.create(t)) })
	// It runs alone, because it has to be done within a lease of 30 s.
	t.Run("Import/RunsOnceWhenStartedTwice", func(t *testing.T) { testImport(t, s.create(t)) })
	for _, test := range []struct {
		name string
		run  func(*testing.T, *table)
	}{
		{"Lock/ExcludesSuspendedProcessesInABadNetwork", testSuspendedProcesses},
		{"Lock/SuspendedHoldersMakeNoCallAfterTheirLease", testHoldersSuspendedPastTheirLease},
		{"Lock/CounterOfKilledProcessesLosesNothing", testKilled},
		{"Engines/GiveTheSameResults", testSuite},
		{"Lock/HolderThatIsCutOffStopsAtItsLease", testCutOff},
		{"Table/IsCreatedOnceAndChecked", testTable},
		{"Function/ReleasesLocksWhenTerminated", testLambdaTerminated},
		{"Function/ReconnectsAfterThaw", testLambdaThawed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, s.create(t))
		})
	}
}

// service is an emulator.
type service struct {
	endpoint string
	tables   atomic.Int32
}

// table is a table of the service, with a folder for scripts.
type table struct {
	t              *testing.T
	name, endpoint string
	dir            string
}

const region = "eu-west-1"

// create creates a table as an operator does.
func (s *service) create(t *testing.T) *table {
	t.Helper()
	tb := &table{t: t, name: fmt.Sprint("table-", s.tables.Add(1)), endpoint: s.endpoint, dir: t.TempDir()}
	if got, want := tb.command(s.endpoint, "table", "create", "--yes").output(), "is created and can be used"; !strings.Contains(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	// On a busy machine the emulator takes seconds to answer its first conditional
	// request, and if the client gives up it may never answer one again.
	tb.putLock("first", time.Now().Add(-time.Hour))
	return tb
}

// program is a run of the program that uses the table.
type program struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr bytes.Buffer
}

// command prepares a run that uses endpoint. It is killed if it outlives its
// test.
func (tb *table) command(endpoint string, args ...string) *program {
	args = append(args, "--db-table", tb.name, "--db-region", region, "--db-endpoint", endpoint)
	p := &program{Cmd: exec.CommandContext(tb.t.Context(), fast, args...), t: tb.t}
	p.Dir, p.Stdout, p.Stderr = tb.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
	return p
}

func (p *program) start() {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// end waits until the program ends, and fails the test unless it succeeds.
func (p *program) end() {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Errorf("%v: %v\n%s%s", p.Args[1:], err, p.stdout.String(), p.stderr.String())
	}
}

// output runs the program and returns what it printed.
func (p *program) output() string {
	p.t.Helper()
	p.start()
	p.end()
	return strings.TrimSuffix(p.stdout.String(), "\n")
}

// sums reads the counters.
func (tb *table) sums() (sums map[string]int) {
	tb.t.Helper()
	write(tb.t, tb.dir, "sums.lua", `
		local sums = {}
		for key, n in native.db.open("counters"):each{} do sums[key] = n end
		return sums`)
	text := tb.command(tb.endpoint, "run", "sums.lua").output()
	if err := json.Unmarshal([]byte(text), &sums); err != nil {
		tb.t.Fatalf("%v: %s", err, text)
	}
	return sums
}

// countInTurn adds one to a number event.times times, by a read and a write that
// only a lock protects.
const countInTurn = `return function(event)
	local counters = native.db.open("counters")
	for i = 1, event.times do
		native.lock.turn("n", { lease_ms = 2000, poll_ms = 200 }, function()
			counters:put("n", (counters:get("n") or 0) + 1)
		end)
	end
end`

// testKilled kills one process before it learns that its write was applied, and
// one before it learns that the lock is held.
func testKilled(t *testing.T, tb *table) {
	const lease = 2 * time.Second
	write(t, tb.dir, "count.lua", countInTurn)
	p := newProxy(t, tb.endpoint)
	var mu sync.Mutex // guards all and at
	var all []*program
	at := [killed]struct {
		partition string
		status    int
		left      int // such answers until the kill
	}{{entries, 200, increments / 4}, {lockRows, 400, 10}}
	p.answered = func(a arrival) {
		mu.Lock()
		defer mu.Unlock()
		if a.process >= killed || a.op != "PutItem" {
			return
		}
		k := &at[a.process]
		if a.partition == k.partition && a.status == k.status {
			if k.left--; k.left == 0 {
				all[a.process].Process.Kill()
			}
		}
	}
	mu.Lock()
	for range processes {
		all = append(all, tb.command(p.open().endpoint(), "run", "count.lua",
			"--event", fmt.Sprintf(`{"times":%d}`, increments), "--timeout", "100s"))
	}
	for _, c := range all {
		c.start()
	}
	mu.Unlock()
	for i, c := range all {
		if i >= killed {
			c.end()
		} else if c.Wait() == nil {
			t.Errorf("process %d was not killed", i)
		}
	}
	p.close()
	record := p.requests()
	h := historyOf(record, lease)
	sums := tb.sums()
	h.check(t, sums)
	if least := (processes - killed) * increments; sums["n"] < least {
		t.Errorf("got a sum of %d, want at least %d", sums["n"], least)
	}
	grants, ranOut, gap := h.grants()
	if most := lease + lock.DefaultGuard + 4*time.Second; ranOut != 1 || gap > most {
		t.Errorf("%d rows ran out, want that of the killed holder; the next holder came after %v, want at most %v", ranOut, gap, most)
	}
	t.Logf("%d requests, %d grants, %v from the killed holder to the next; %d requests after a lease", len(record), grants, gap, h.afterLease)
}

// tryLocks tries to acquire each of the locks that event names, and returns
// whether it succeeded.
const tryLocks = `return function(event)
	local had = {}
	for i, name in ipairs(event) do
		had[i] = native.lock.with(name, function() native.sleep(50) end)
	end
	return had
end`

func testCosts(t *testing.T, tb *table) {
	write(t, tb.dir, "try.lua", tryLocks)
	now := time.Now()
	tb.putLock("held", now.Add(time.Minute))
	tb.putLock("ran out", now.Add(-10*time.Second))
	p := newProxy(t, tb.endpoint)
	for i, test := range []struct{ name, locks, had, requests string }{
		{"a fresh process, no wait, a free lock", `["free"]`, `[true]`, "DeleteItem PutItem DeleteItem"},
		{"a fresh process, no wait, a row that has run out", `["ran out"]`, `[true]`, "DeleteItem PutItem DeleteItem"},
		{"a fresh process, no wait, a held lock", `["held"]`, `[false]`, "DeleteItem PutItem"},
		{"one lock after the other", `["free","another"]`, `[true,true]`, "DeleteItem PutItem DeleteItem PutItem DeleteItem"},
	} {
		if had := tb.command(p.open().endpoint(), "run", "try.lua", "--event", test.locks).output(); had != test.had {
			t.Errorf("%s: got %s, want %s", test.name, had, test.had)
		}
		var ops []string
		for _, a := range p.requests() {
			if a.process == i {
				ops = append(ops, a.op)
			}
		}
		if got := strings.Join(ops, " "); got != test.requests {
			t.Errorf("%s: got requests %s, want %s", test.name, got, test.requests)
		}
	}
}

// putLock writes the row of a lock that another process holds, or has held.
func (tb *table) putLock(name string, until time.Time) {
	tb.t.Helper()
	s, err := dynamo.Open(tb.t.Context(), clock.NewDual(clock.System()), dynamo.Options{
		Table: tb.name, Region: region, Endpoint: tb.endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	defer s.Close()
	row := lock.Row{Key: lock.Key{Tenant: "dev", Name: name}, Owner: strings.Repeat("0", 32), Start: 1, Until: lock.UnixMilli(until.UnixMilli())}
	if a := s.PutLock(tb.t.Context(), row, row.Start); a.Outcome != outcome.Applied {
		tb.t.Fatal(a.Err)
	}
}

func testCutOff(t *testing.T, tb *table) {
	const lease = time.Second
	for name, work := range map[string]string{
		"while it works": `while true do end`,
		"while it waits": `while true do pcall(entries.get, entries, "key") end`,
	} {
		write(t, tb.dir, "held.lua", `
			local entries = native.db.open("entries")
			local from = native.time()
			local ok, e = pcall(native.lock.turn, "`+name+`", { lease_ms = 1000 }, function() `+work+` end)
			return { ok, e, native.time() - from }`)
		p := newProxy(t, tb.endpoint)
		p.answered = func(a arrival) {
			if a.op == "PutItem" {
				p.ports[0].cutOff.Store(true)
			}
		}
		text := tb.command(p.open().endpoint(), "run", "held.lua").output()
		var result struct {
			OK    bool
			Error string
			Took  float64
		}
		if err := json.Unmarshal([]byte(text), &[]any{&result.OK, &result.Error, &result.Took}); err != nil || result.Error != "deadline exceeded" {
			t.Fatalf("%s: got %s, want deadline exceeded (%v)", name, text, err)
		}
		// The first attempt to delete the row comes once the function has ended.
		all := p.requests()
		put := slices.IndexFunc(all, func(a arrival) bool { return a.op == "PutItem" })
		freed := put + slices.IndexFunc(all[put:], func(a arrival) bool { return a.op == "DeleteItem" })
		stopped := all[freed].at.Sub(all[put].at)
		took := time.Duration(result.Took * float64(time.Second))
		if stopped > lease+lock.MinGuard || took < lease || took > stopped+3*time.Second+lock.MinGuard {
			t.Errorf("%s: stopped after %v, ended after %v, want %v and at most 2 s more", name, stopped, took, lease)
		}
		t.Logf("%s: stopped %v after its put, ended after %v", name, stopped, took)
	}
}

// testSuite runs testdata/locks/*.lua in real time on both engines.
func testSuite(t *testing.T, tb *table) {
	files, err := filepath.Glob("testdata/locks/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	write(t, tb.dir, "first.lua", `native.db.open("entries"):put("key", 1)`) // creates the file, which takes time
	run(t, fast, tb.dir, "first.lua")
	for _, file := range files {
		copyFile(t, tb.dir, "test/e2e/"+file)
		name := filepath.Base(file)
		embedded := start(t, fast, tb.dir, name)
		got := tb.command(tb.endpoint, "run", name).output()
		code, want := embedded.end()
		if code != 0 {
			t.Errorf("%s, embedded: got exit code %d\n%s", name, code, embedded.log())
		}
		if want = strings.TrimSuffix(want, "\n"); got != want {
			t.Errorf("%s: got %s on DynamoDB and %s embedded", name, got, want)
		}
	}
}

func testTable(t *testing.T, tb *table) {
	if got, want := tb.command(tb.endpoint, "table", "create", "--yes").output(), "was there already"; !strings.Contains(got, want) {
		t.Errorf("create again: got %q, want %q", got, want)
	}
	if got := tb.command(tb.endpoint, "table", "check").output(); !strings.Contains(got, "data can be read") {
		t.Errorf("check: got %q, want data that can be read", got)
	}
	missing := *tb
	missing.name = "missing"
	c := missing.command(tb.endpoint, "table", "check")
	c.start()
	if c.Wait(); c.ProcessState.ExitCode() != 1 || !strings.Contains(c.stdout.String(), "no such table") {
		t.Errorf("check of no table: got %v and %q, want exit code 1 and no such table", c.ProcessState, c.stdout.String())
	}
}
