package db

import (
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// quotaMax is how many repetitions a tenant has at hand, and quotaEvery
	// how long it takes until one comes back.
	quotaMax   = 100
	quotaEvery = 500 * time.Millisecond
)

// quota bounds the repetitions of one tenant's requests, over all of its runs
// in this process. When the store is in trouble, requests are then hardly
// multiplied, and a tenant whose partition is too hot has no effect on the
// repetitions of others.
type quota struct {
	mu sync.Mutex // guards what follows
	// full is when, on the fast hand, all repetitions will be at hand again:
	// each taken puts it off by quotaEvery.
	full time.Duration
}

// take takes one repetition at now on the fast hand, if there is one. A nil
// quota is without bound.
func (q *quota) take(now time.Duration) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	full := max(q.full, now) + quotaEvery
	if full-now > quotaMax*quotaEvery {
		return false
	}
	q.full = full
	return true
}

// quotas has one quota for each tenant seen.
type quotas struct {
	mu   sync.Mutex
	byID map[tenant.ID]*quota // guarded by mu
}

func (q *quotas) of(id tenant.ID) *quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID == nil {
		q.byID = make(map[tenant.ID]*quota)
	}
	one := q.byID[id]
	if one == nil {
		one = new(quota)
		q.byID[id] = one
	}
	return one
}
