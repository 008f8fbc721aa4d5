package db

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// quotaMax is how many repetitions a tenant may make at once, and quotaEvery
	// the time after which it may make one more.
	quotaMax   = 100
	quotaEvery = 500 * time.Millisecond
)

// quota bounds the repetitions of one tenant's requests, over all of its runs in
// this process. So a store that fails sees hardly more requests than one that
// works, and a tenant whose partition is too hot leaves the others their
// repetitions.
type quota struct{ bucket *rate.Limiter }

func newQuota() *quota { return &quota{rate.NewLimiter(rate.Every(quotaEvery), quotaMax)} }

// take takes one repetition at the elapsed time now, and reports whether there
// was one. A nil quota has no bound.
func (q *quota) take(now time.Duration) bool {
	// The bucket counts in wall time, which may be set: any fixed moment serves as
	// the start of elapsed time.
	return q == nil || q.bucket.AllowN(time.Unix(0, int64(now)), 1)
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
		one = newQuota()
		q.byID[id] = one
	}
	return one
}
