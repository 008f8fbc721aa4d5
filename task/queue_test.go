package task

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// load is the load of a queue: what was started, in order, and what still runs.
type load struct {
	*queue
	mu      sync.Mutex // guards what follows
	started []string
	running []*waiter
}

func newLoad(t *testing.T, l Limits) *load {
	l, err := l.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &load{queue: newQueue(l)}
}

// waiters are those that wait, in no order.
func (q *load) waiters() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for _, w := range q.waiting.All() {
			if !yield(w) {
				return
			}
		}
	}
}

// join enters a waiter named "tenant/script/rest" and returns when it runs or
// waits.
func (q *load) join(name string) *runtime.Error {
	parts := strings.SplitN(name, "/", 3)
	t := &waiter{tenant: tenant.ID(parts[0]), script: parts[1], bytes: 1}
	t.start = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.started = append(q.started, name)
		q.running = append(q.running, t)
	}
	_, failed := q.enter(t)
	synctest.Wait()
	return failed
}

// end ends the i-th of those that run.
func (q *load) end(i int) {
	q.mu.Lock()
	t := q.running[i]
	q.running = slices.Delete(q.running, i, i+1)
	q.mu.Unlock()
	q.leave(t)
	synctest.Wait()
}

func TestQueueLetsTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLoad(t, Limits{Concurrency: 1, QueueLength: 10})
		for _, name := range []string{"loud/s/0", "loud/s/1", "loud/s/2", "loud/s/3", "quiet/s/1", "other/s/1", "other/s/2"} {
			if failed := q.join(name); failed != nil {
				t.Fatal(failed)
			}
		}
		for len(q.running) > 0 {
			q.end(0)
		}
		want := []string{"loud/s/0", "loud/s/1", "quiet/s/1", "other/s/1", "loud/s/2", "other/s/2", "loud/s/3"}
		if !slices.Equal(q.started, want) {
			t.Errorf("got %q, want %q", q.started, want)
		}
	})
}

func TestQueueLimitsTenantsAndScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLoad(t, Limits{Concurrency: 4, TenantConcurrency: 3, ScriptConcurrency: 2, QueueLength: 3})
		for _, name := range []string{"a/s/1", "a/s/2", "a/s/3", "a/o/1", "a/o/2", "b/s/1", "b/s/2"} {
			q.join(name)
		}
		// The third of script s waits, and lets o's first pass.
		if want := []string{"a/s/1", "a/s/2", "a/o/1", "b/s/1"}; !slices.Equal(q.started, want) {
			t.Fatalf("got %q, want %q", q.started, want)
		}
		q.end(2) // o's: a/s/3 still can't run, but o's second can
		if last := q.started[len(q.started)-1]; last != "a/o/2" {
			t.Errorf("got %s, want a/o/2", last)
		}
		q.end(0)
		if last := q.started[len(q.started)-1]; last != "b/s/2" {
			t.Errorf("got %s, want b/s/2: a has been served last", last)
		}
	})
}

func TestQueueKnowsTheLimitsOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLoad(t, Limits{Concurrency: 20, TenantConcurrency: 4, ScriptConcurrency: 3, QueueLength: 2, Tenants: map[tenant.ID]TenantLimits{
			"few": {Concurrency: 2}, "one": {ScriptConcurrency: 1}, "many": {Concurrency: 7, ScriptConcurrency: 6}, "long": {QueueLength: 5},
		}})
		for _, test := range []struct {
			tenant                 string
			sameScript, all, waits int
		}{
			{"other", 3, 4, 2}, {"few", 2, 2, 2}, {"one", 1, 4, 2}, {"many", 6, 7, 2}, {"long", 3, 4, 5},
		} {
			runs := func() (n int) {
				for _, r := range q.running {
					if string(r.tenant) == test.tenant {
						n++
					}
				}
				return n
			}
			for i := range 20 {
				q.join(fmt.Sprintf("%s/s/%d", test.tenant, i))
			}
			if got := runs(); got != test.sameScript {
				t.Errorf("%s: got %d runs of a script, want %d", test.tenant, got, test.sameScript)
			}
			if got := q.waiting.TenantLen(tenant.ID(test.tenant)); got != test.waits {
				t.Errorf("%s: got %d that wait, want %d", test.tenant, got, test.waits)
			}
			for _, w := range slices.Collect(q.waiters()) {
				q.withdraw(w)
			}
			for i := range 20 {
				q.join(fmt.Sprintf("%s/s%d/x", test.tenant, i))
			}
			if got := runs(); got != test.all {
				t.Errorf("%s: got %d runs, want %d", test.tenant, got, test.all)
			}
			for len(q.running) > 0 {
				q.end(0)
			}
		}
		if _, err := (Limits{Tenants: map[tenant.ID]TenantLimits{"a": {Concurrency: -1}}}).withDefaults(); err == nil {
			t.Error("a limit below 0 is taken")
		}
	})
}

func TestQueueRefusesATenantWhoseQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLoad(t, Limits{Concurrency: 1, QueueLength: 2})
		for i := range 3 {
			if failed := q.join(fmt.Sprintf("a/s/%d", i)); failed != nil {
				t.Fatal(failed)
			}
		}
		if failed := q.join("a/s/3"); failed == nil || failed.Type != runtime.TenantThrottled || !failed.Retryable {
			t.Errorf("got %v, want %s", failed, runtime.TenantThrottled)
		}
		if failed := q.join("b/s/0"); failed != nil {
			t.Errorf("another tenant: got %v, want none", failed)
		}
		large := &waiter{tenant: "c", script: "s", bytes: q.limits.QueueBytes + 1, start: func() {}}
		if _, failed := q.enter(large); failed == nil {
			t.Error("an event that is larger than the queue waits in it")
		}
		if len(q.tenants) != 2 {
			t.Errorf("got %d tenants in the queue, want 2: one that was refused leaves nothing", len(q.tenants))
		}
	})
}

func TestQueueForgetsWhatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLoad(t, Limits{Concurrency: 1})
		q.join("a/s/0")
		waits := &waiter{tenant: "b", script: "s", start: func() { t.Error("a withdrawn waiter was started") }}
		q.enter(waits)
		if !q.withdraw(waits) || q.withdraw(waits) {
			t.Error("a waiter can be withdrawn once")
		}
		q.end(0)
		if len(q.tenants) != 0 || q.waiting.Len() != 0 || q.queue.running != 0 {
			t.Errorf("got %d tenants, %d that wait, %d running, want none", len(q.tenants), q.waiting.Len(), q.queue.running)
		}
	})
}

// Random arrivals and ends: limits hold, nothing is lost, and whoever may run
// doesn't wait.
func TestQueueIsFairInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(30) {
			random := rand.New(rand.NewPCG(seed, 0))
			q := newLoad(t, Limits{Concurrency: 1 + random.IntN(6), TenantConcurrency: 1 + random.IntN(4), ScriptConcurrency: 1 + random.IntN(3), QueueLength: 5})
			accepted := 0
			for step := range 400 {
				if random.IntN(2) == 0 || len(q.running) == 0 {
					if q.join(fmt.Sprintf("t%d/s%d/%d", random.IntN(5), random.IntN(3), step)) == nil {
						accepted++
					}
				} else {
					q.end(random.IntN(len(q.running)))
				}
				q.check(t, seed)
			}
			for len(q.running) > 0 {
				q.end(0)
			}
			if len(q.started) != accepted {
				t.Fatalf("seed %d: %d started of %d accepted", seed, len(q.started), accepted)
			}
		}
	})
}

func (q *load) check(t *testing.T, seed uint64) {
	t.Helper()
	tenants, scripts := map[tenant.ID]int{}, map[string]int{}
	for _, r := range q.running {
		tenants[r.tenant]++
		scripts[string(r.tenant)+r.script]++
	}
	l := q.limits
	for _, n := range tenants {
		if n > l.TenantConcurrency {
			t.Fatalf("seed %d: %d runs of a tenant", seed, n)
		}
	}
	for _, n := range scripts {
		if n > l.ScriptConcurrency {
			t.Fatalf("seed %d: %d runs of a script", seed, n)
		}
	}
	if len(q.running) > l.Concurrency {
		t.Fatalf("seed %d: %d runs", seed, len(q.running))
	}
	for w := range q.waiters() {
		if len(q.running) < l.Concurrency && tenants[w.tenant] < l.TenantConcurrency && scripts[string(w.tenant)+w.script] < l.ScriptConcurrency {
			t.Fatalf("seed %d: %s/%s waits and could run", seed, w.tenant, w.script)
		}
	}
}
