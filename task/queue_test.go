package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// board plays with a queue: what was started, in order, and is still running.
type board struct {
	*queue
	mu      sync.Mutex // guards what follows
	started []string
	running []*ticket
}

func newBoard(t *testing.T, l Limits) *board {
	l, err := l.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &board{queue: newQueue(l)}
}

// join enters a ticket named "tenant/script/rest" and waits until it runs or
// waits.
func (b *board) join(name string) *runtime.Error {
	parts := strings.SplitN(name, "/", 3)
	t := &ticket{tenant: tenant.ID(parts[0]), script: parts[1], bytes: 1}
	t.start = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.started = append(b.started, name)
		b.running = append(b.running, t)
	}
	failed := b.enter(t)
	synctest.Wait()
	return failed
}

// end ends the i-th of those that run.
func (b *board) end(i int) {
	b.mu.Lock()
	t := b.running[i]
	b.running = slices.Delete(b.running, i, i+1)
	b.mu.Unlock()
	b.leave(t)
	synctest.Wait()
}

func TestTenantsTakeTurnsAndTheirInvocationsGoInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBoard(t, Limits{Concurrency: 1, QueueLength: 10})
		for _, name := range []string{"loud/s/0", "loud/s/1", "loud/s/2", "loud/s/3", "quiet/s/1", "other/s/1", "other/s/2"} {
			if failed := b.join(name); failed != nil {
				t.Fatal(failed)
			}
		}
		for len(b.running) > 0 {
			b.end(0)
		}
		want := []string{"loud/s/0", "loud/s/1", "quiet/s/1", "other/s/1", "loud/s/2", "other/s/2", "loud/s/3"}
		if !slices.Equal(b.started, want) {
			t.Errorf("got %q, want %q", b.started, want)
		}
	})
}

func TestNoTenantAndNoScriptHasMoreRunsThanItMay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBoard(t, Limits{Concurrency: 4, TenantConcurrency: 3, ScriptConcurrency: 2, QueueLength: 3})
		for _, name := range []string{"a/s/1", "a/s/2", "a/s/3", "a/o/1", "a/o/2", "b/s/1", "b/s/2"} {
			b.join(name)
		}
		// The third of script s waits, and lets o's first pass.
		if want := []string{"a/s/1", "a/s/2", "a/o/1", "b/s/1"}; !slices.Equal(b.started, want) {
			t.Fatalf("got %q, want %q", b.started, want)
		}
		b.end(2) // o's: a/s/3 still can't run, but o's second can
		if last := b.started[len(b.started)-1]; last != "a/o/2" {
			t.Errorf("got %s, want a/o/2", last)
		}
		b.end(0)
		if last := b.started[len(b.started)-1]; last != "b/s/2" {
			t.Errorf("got %s, want b/s/2: a has been served last", last)
		}
	})
}

func TestATenantHasItsOwnLimits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBoard(t, Limits{Concurrency: 20, TenantConcurrency: 4, ScriptConcurrency: 3, QueueLength: 2, Tenants: map[tenant.ID]TenantLimits{
			"few": {Concurrency: 2}, "one": {ScriptConcurrency: 1}, "many": {Concurrency: 7, ScriptConcurrency: 6}, "long": {QueueLength: 5},
		}})
		for _, test := range []struct {
			tenant                 string
			sameScript, all, waits int
		}{
			{"other", 3, 4, 2}, {"few", 2, 2, 2}, {"one", 1, 4, 2}, {"many", 6, 7, 2}, {"long", 3, 4, 5},
		} {
			runs := func() (n int) {
				for _, r := range b.running {
					if string(r.tenant) == test.tenant {
						n++
					}
				}
				return n
			}
			for i := range 20 {
				b.join(fmt.Sprintf("%s/s/%d", test.tenant, i))
			}
			if got := runs(); got != test.sameScript {
				t.Errorf("%s: got %d runs of a script, want %d", test.tenant, got, test.sameScript)
			}
			line := b.lines[tenant.ID(test.tenant)]
			if got := len(line.waiting); got != test.waits {
				t.Errorf("%s: got %d that wait, want %d", test.tenant, got, test.waits)
			}
			for len(line.waiting) > 0 {
				b.withdraw(line.waiting[0])
			}
			for i := range 20 {
				b.join(fmt.Sprintf("%s/s%d/x", test.tenant, i))
			}
			if got := runs(); got != test.all {
				t.Errorf("%s: got %d runs, want %d", test.tenant, got, test.all)
			}
			for len(b.running) > 0 {
				b.end(0)
			}
		}
		if _, err := (Limits{Tenants: map[tenant.ID]TenantLimits{"a": {Concurrency: -1}}}).withDefaults(); err == nil {
			t.Error("a limit below 0 is taken")
		}
	})
}

func TestAFullQueueRefusesItsOwnTenantAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBoard(t, Limits{Concurrency: 1, QueueLength: 2})
		for i := range 3 {
			if failed := b.join(fmt.Sprintf("a/s/%d", i)); failed != nil {
				t.Fatal(failed)
			}
		}
		if failed := b.join("a/s/3"); failed == nil || failed.Type != runtime.TenantThrottled || !failed.Retryable {
			t.Errorf("got %v, want %s", failed, runtime.TenantThrottled)
		}
		if failed := b.join("b/s/0"); failed != nil {
			t.Errorf("another tenant: got %v, want none", failed)
		}
		large := &ticket{tenant: "c", script: "s", bytes: b.limits.QueueBytes + 1, start: func() {}}
		if failed := b.enter(large); failed == nil {
			t.Error("an event that is larger than the queue waits in it")
		}
		if len(b.lines) != 2 {
			t.Errorf("got %d tenants in the queue, want 2: one that was refused leaves nothing", len(b.lines))
		}
	})
}

func TestTheQueueForgetsWhatHasLeft(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBoard(t, Limits{Concurrency: 1})
		b.join("a/s/0")
		waits := &ticket{tenant: "b", script: "s", start: func() { t.Error("a withdrawn ticket was started") }}
		b.enter(waits)
		if !b.withdraw(waits) || b.withdraw(waits) {
			t.Error("a ticket that waits can be withdrawn once")
		}
		b.end(0)
		if len(b.lines) != 0 || len(b.turns) != 0 || b.queue.running != 0 {
			t.Errorf("got %d tenants, %d in turn, %d running, want none", len(b.lines), len(b.turns), b.queue.running)
		}
	})
}

// Random arrivals and ends: limits hold, nothing is lost, and nobody who could
// run waits.
func TestTheQueueKeepsItsPromisesInAnyOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for seed := range uint64(30) {
			random := rand.New(rand.NewPCG(seed, 0))
			b := newBoard(t, Limits{Concurrency: 1 + random.IntN(6), TenantConcurrency: 1 + random.IntN(4), ScriptConcurrency: 1 + random.IntN(3), QueueLength: 5})
			accepted := 0
			for step := range 400 {
				if random.IntN(2) == 0 || len(b.running) == 0 {
					if b.join(fmt.Sprintf("t%d/s%d/%d", random.IntN(5), random.IntN(3), step)) == nil {
						accepted++
					}
				} else {
					b.end(random.IntN(len(b.running)))
				}
				b.check(t, seed)
			}
			for len(b.running) > 0 {
				b.end(0)
			}
			if len(b.started) != accepted {
				t.Fatalf("seed %d: %d started of %d accepted", seed, len(b.started), accepted)
			}
		}
	})
}

func (b *board) check(t *testing.T, seed uint64) {
	t.Helper()
	tenants, scripts := map[tenant.ID]int{}, map[string]int{}
	for _, r := range b.running {
		tenants[r.tenant]++
		scripts[string(r.tenant)+r.script]++
	}
	l := b.limits
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
	if len(b.running) > l.Concurrency {
		t.Fatalf("seed %d: %d runs", seed, len(b.running))
	}
	for _, line := range b.lines {
		for _, w := range line.waiting {
			if len(b.running) < l.Concurrency && tenants[w.tenant] < l.TenantConcurrency && scripts[string(w.tenant)+w.script] < l.ScriptConcurrency {
				t.Fatalf("seed %d: a ticket waits that could run", seed)
			}
		}
	}
}
