package db

import (
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// quotaMax is how many repetitions a tenant may make at once, and quotaEvery
	// the time after which it may make one more.
	quotaMax   = 100
	quotaEvery = 500 * time.Millisecond
)

// quota is a token bucket: it bounds the repetitions of one tenant's requests,
// over all of its runs in this process. So a store that fails sees hardly more
// requests than one that works, and a tenant whose partition is too hot leaves
// the others their repetitions.
type quota struct {
	mu sync.Mutex // guards what follows
	// full is the elapsed time at which the bucket is full again. Each repetition
	// puts it off by quotaEvery.
	full time.Duration
}

// take takes one repetition at the elapsed time now, and reports whether there
// was one. A nil quota has no bound.
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

// quotas holds the quota of each tenant seen.
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
