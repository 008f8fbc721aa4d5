package fair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidelock-lua/tidelock/tenant"
)

// push adds items that begin with the name of their tenant: "a1", "a2", "b1".
func push(q *Queue[string], items ...string) {
	for _, item := range items {
		q.Push(tenantOf(item), item)
	}
}

func tenantOf(item string) tenant.ID { return tenant.ID(item[:1]) }

func popAll(q *Queue[string]) (items []string) {
	for {
		item, ok := q.Pop()
		if !ok {
			return items
		}
		items = append(items, item)
	}
}

func wantItems(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQueuePop(t *testing.T) {
	t.Run("TenantsTakeTurns", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1", "a2", "a3", "b1", "c1", "c2")
		wantItems(t, popAll(&q), "a1", "b1", "c1", "a2", "c2", "a3")
	})
	t.Run("ATenantThatHadItsTurnGoesBehindNewOnes", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1", "a2")
		q.Pop()
		push(&q, "b1", "a3")
		wantItems(t, popAll(&q), "a2", "b1", "a3")
	})
	t.Run("AnEmptyQueueHasNone", func(t *testing.T) {
		var q Queue[string]
		if item, ok := q.Pop(); ok {
			t.Errorf("got %q, want none", item)
		}
	})
}

func TestQueuePopFunc(t *testing.T) {
	every := func(tenant.ID) bool { return true }
	t.Run("PassedOverTenantsKeepTheirTurn", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1", "b1", "b2", "c1")
		item, _ := q.PopFunc(func(id tenant.ID) bool { return id != "a" }, func(string) bool { return true })
		wantItems(t, append([]string{item}, popAll(&q)...), "b1", "a1", "c1", "b2")
	})
	t.Run("PassedOverItemsKeepTheirPlace", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1", "a2", "a3", "b1")
		item, _ := q.PopFunc(every, func(s string) bool { return s != "a1" })
		wantItems(t, append([]string{item}, popAll(&q)...), "a2", "b1", "a1", "a3")
	})
	t.Run("ATenantWithoutAnItemThatMayLeaveIsPassedOver", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1", "a2", "b1")
		item, _ := q.PopFunc(every, func(s string) bool { return s == "b1" })
		wantItems(t, append([]string{item}, popAll(&q)...), "b1", "a1", "a2")
	})
	t.Run("NoItemMayLeave", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1")
		if item, ok := q.PopFunc(every, func(string) bool { return false }); ok || q.Len() != 1 {
			t.Errorf("got %q and %d left, want none and 1", item, q.Len())
		}
	})
	t.Run("ItemsOfATenantThatMayNotLeaveAreNotLookedAt", func(t *testing.T) {
		var q Queue[string]
		push(&q, "a1")
		q.PopFunc(func(tenant.ID) bool { return false }, func(s string) bool { t.Errorf("looked at %s", s); return true })
	})
}

func TestQueueRemove(t *testing.T) {
	var q Queue[string]
	push(&q, "a1", "a2", "a3", "b1", "c1")
	if !q.Remove("a", "a2") || !q.Remove("b", "b1") {
		t.Error("an item in the queue isn't found")
	}
	if q.Remove("a", "a2") || q.Remove("b", "b1") || q.Remove("c", "a1") {
		t.Error("an item is removed that isn't there")
	}
	wantItems(t, popAll(&q), "a1", "c1", "a3")
}

func TestQueueAll(t *testing.T) {
	var q Queue[string]
	push(&q, "a1", "b1", "a2", "c1")
	var all []string
	for id, item := range q.All() {
		if id != tenantOf(item) {
			t.Errorf("got tenant %s of %s", id, item)
		}
		if all = append(all, item); item == "b1" {
			break
		}
	}
	wantItems(t, all, "a1", "a2", "b1")
}

func TestQueueKeepsNothingOfWhatHasLeft(t *testing.T) {
	var q Queue[string]
	for range 3 {
		for i := range 10 * smallRotation {
			q.Push(tenant.ID(fmt.Sprint("t", i)), "x")
		}
		for i := range 10 * smallRotation / 2 {
			q.Remove(tenant.ID(fmt.Sprint("t", i)), "x")
		}
		popAll(&q)
		if len(q.tenants) != 0 || cap(q.rotation) > smallRotation || q.Len() != 0 {
			t.Errorf("got %d tenants, room for %d and %d items, want none", len(q.tenants), cap(q.rotation), q.Len())
		}
	}
}

// Random pushes, pops and removals: lengths are right, the items of a tenant
// leave in order, and between two turns of a tenant each other that waits
// through has exactly one.
func TestQueueIsFairInAnyOrder(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var q Queue[int]
		waiting := map[tenant.ID][]int{}
		passed := map[tenant.ID]map[tenant.ID]int{} // turns of others since the last of a tenant that waits
		for next := range 500 {
			id := tenant.ID(fmt.Sprint("t", random.IntN(6)))
			switch random.IntN(4) {
			case 0, 1:
				q.Push(id, next)
				if waiting[id] = append(waiting[id], next); passed[id] == nil {
					passed[id] = map[tenant.ID]int{}
				}
			case 2:
				item, ok := q.Pop()
				if !ok {
					continue
				}
				for other, items := range waiting {
					if len(items) > 0 && items[0] == item {
						id = other
					}
				}
				if waiting[id][0] != item {
					t.Fatalf("seed %d: got %d, which is the oldest of no tenant", seed, item)
				}
				waiting[id] = waiting[id][1:]
				delete(passed, id)
				for other, turns := range passed {
					if turns[id]++; turns[id] > 1 {
						t.Fatalf("seed %d: %s has two turns while %s waits", seed, id, other)
					}
				}
				if len(waiting[id]) > 0 {
					passed[id] = map[tenant.ID]int{}
				}
			case 3:
				if items := waiting[id]; len(items) > 0 {
					i := random.IntN(len(items))
					q.Remove(id, items[i])
					if waiting[id] = slices.Delete(items, i, i+1); len(waiting[id]) == 0 {
						delete(passed, id)
					}
				}
			}
			total := 0
			for id, items := range waiting {
				if total += len(items); q.TenantLen(id) != len(items) {
					t.Fatalf("seed %d: got %d items of %s, want %d", seed, q.TenantLen(id), id, len(items))
				}
			}
			if q.Len() != total {
				t.Fatalf("seed %d: got %d items, want %d", seed, q.Len(), total)
			}
		}
	}
}
