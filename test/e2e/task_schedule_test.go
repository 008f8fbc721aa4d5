package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// ticks counts how often each due time was run.
const ticks = `return function(event)
	native.db.open("ticks"):add(event.planned_at, 1)
end`

// ticked returns the counters that ticks has written.
const ticked = `local counts = {}
for key, n in native.db.open("ticks"):each{} do counts[key] = n end
return counts`

// Three processes with one schedule, of which one is killed in the middle.
func TestTaskScheduleRunsEachDueTimeOnceInThreeProcesses(t *testing.T) {
	t.Parallel()
	const times = 100
	const step = 100 * time.Millisecond
	s := &service{endpoint: dynamolocal.Start(t)}
	tb := s.create(t)
	var hosts []*taskHost
	for range 3 {
		dir := acme(t, "ticks", ticks, "ticked", ticked)
		hosts = append(hosts, serveTask(t, fast, dir, fmt.Sprintf(`
db: { table: %s, region: %s, endpoint: %q }
limits: { timeout: 2s }
tenants: { acme: { scripts: acme } }
task:
  schedules:
    tick: { tenant: acme, script: ticks, cron: "@every %v", overlap: queue }
`, tb.name, region, tb.endpoint, step)))
	}
	counts := func(h *taskHost) (counts map[string]int, due []string) {
		r, err := h.invoke("acme", "ticked", ``)
		if err != nil || r.status != 200 {
			t.Fatalf("got %d %s, %v", r.status, r.body, err)
		}
		var result struct{ Value map[string]int }
		if err := json.Unmarshal([]byte(r.body), &result); err != nil && !strings.Contains(r.body, `"value":[]`) {
			t.Fatalf("%v: %s", err, r.body)
		}
		for at := range result.Value {
			due = append(due, at)
		}
		slices.Sort(due)
		return result.Value, due
	}
	eventually(t, "a third of the due times", func() bool { _, due := counts(hosts[0]); return len(due) > times/3 })
	hosts[1].Process.Kill()
	hosts[1].exit(-1)
	killed := time.Now()
	eventually(t, "all due times", func() bool {
		_, due := counts(hosts[0])
		return len(due) > times && due[len(due)-1] > killed.UTC().Format("2006-01-02T15:04:05.000Z")
	})
	hosts[2].Process.Signal(syscall.SIGTERM)
	hosts[2].exit(0)
	all, due := counts(hosts[0])
	for at, n := range all {
		if n != 1 {
			t.Errorf("%s was run %d times", at, n)
		}
	}
	var lost []string
	at, err := time.Parse(time.RFC3339, due[0])
	for last := due[len(due)-1]; err == nil && at.UTC().Format("2006-01-02T15:04:05.000Z") < last; at = at.Add(step) {
		if text := at.UTC().Format("2006-01-02T15:04:05.000Z"); all[text] == 0 {
			lost = append(lost, text)
		}
	}
	// The run that the killed process had begun may be lost, and no other.
	if len(lost) > 1 || err != nil || len(due) < times {
		t.Errorf("due times that were not run: %v, of %d, %v", lost, len(due), err)
	}
	t.Logf("%d due times, %d lost with the process that was killed", len(due), len(lost))
	hosts[0].Process.Signal(syscall.SIGTERM)
	hosts[0].exit(0)
}
