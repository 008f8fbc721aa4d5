// Package fair provides a queue in which tenants take turns, so that a tenant
// with many items delays the others by no more than one item each time.
package fair

import (
	"iter"
	"slices"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Queue holds items that wait, each on behalf of a tenant. The items of one
// tenant leave in the order in which they came, and tenants take turns
// (round-robin): one that had its turn goes behind all others that wait.
//
// The zero value is an empty queue. A Queue keeps no memory of tenants that
// have nothing in it. It may not be used by several goroutines at once.
type Queue[T comparable] struct {
	len      int
	tenants  map[tenant.ID]*tenantQueue[T] // those in rotation
	rotation []*tenantQueue[T]             // the first has the next turn; none is empty
}

// tenantQueue holds the items of one tenant, the oldest first.
type tenantQueue[T comparable] struct {
	tenant tenant.ID
	items  []T
}

// Push adds an item behind those of the same tenant. A tenant that had none
// has its turn after all others.
func (q *Queue[T]) Push(id tenant.ID, item T) {
	t := q.tenants[id]
	if t == nil {
		if q.tenants == nil {
			q.tenants = map[tenant.ID]*tenantQueue[T]{}
		}
		t = &tenantQueue[T]{tenant: id}
		q.tenants[id] = t
		q.rotation = append(q.rotation, t)
	}
	t.items = append(t.items, item)
	q.len++
}

// Pop removes and returns the oldest item of the tenant whose turn it is. It
// returns false if the queue is empty.
func (q *Queue[T]) Pop() (item T, ok bool) {
	if q.len == 0 {
		return item, false
	}
	return q.take(0, 0), true
}

// PopFunc is like [Queue.Pop], but passes over what may not leave yet: tenants
// for which mayTenant returns false, and then items for which mayItem does.
// Whoever is passed over keeps its place. It returns false if there is no item
// that may leave.
func (q *Queue[T]) PopFunc(mayTenant func(tenant.ID) bool, mayItem func(T) bool) (item T, ok bool) {
	for turn, t := range q.rotation {
		if !mayTenant(t.tenant) {
			continue
		}
		if i := slices.IndexFunc(t.items, mayItem); i >= 0 {
			return q.take(turn, i), true
		}
	}
	return item, false
}

// Remove takes an item of a tenant out of the queue, wherever it is; the
// tenant keeps its turn. It returns false if the item isn't there.
func (q *Queue[T]) Remove(id tenant.ID, item T) bool {
	t := q.tenants[id]
	if t == nil {
		return false
	}
	i := slices.Index(t.items, item)
	if i < 0 {
		return false
	}
	q.delete(t, i)
	if len(t.items) == 0 {
		q.drop(slices.Index(q.rotation, t))
	}
	return true
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return q.len }

// TenantLen returns the number of items of one tenant.
func (q *Queue[T]) TenantLen(id tenant.ID) int {
	if t := q.tenants[id]; t != nil {
		return len(t.items)
	}
	return 0
}

// All returns all items, tenant after tenant, in the order of their turns. The
// queue must not change meanwhile.
func (q *Queue[T]) All() iter.Seq2[tenant.ID, T] {
	return func(yield func(tenant.ID, T) bool) {
		for _, t := range q.rotation {
			for _, item := range t.items {
				if !yield(t.tenant, item) {
					return
				}
			}
		}
	}
}

// take removes an item of the tenant at a place in the rotation, which ends
// the tenant's turn.
func (q *Queue[T]) take(turn, i int) T {
	t := q.rotation[turn]
	item := t.items[i]
	q.delete(t, i)
	if len(t.items) == 0 {
		q.drop(turn)
		return item
	}
	q.rotation = append(slices.Delete(q.rotation, turn, turn+1), t)
	return item
}

func (q *Queue[T]) delete(t *tenantQueue[T], i int) {
	t.items = slices.Delete(t.items, i, i+1)
	q.len--
}

// smallRotation is the capacity that an empty queue keeps for the next tenants.
const smallRotation = 64

// drop forgets a tenant that has no item left.
func (q *Queue[T]) drop(turn int) {
	delete(q.tenants, q.rotation[turn].tenant)
	q.rotation = slices.Delete(q.rotation, turn, turn+1)
	if q.len == 0 && cap(q.rotation) > smallRotation {
		*q = Queue[T]{} // neither a map nor a slice shrinks by itself
	}
}
