package task

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Retention says for how long, and how many, finished invocations are kept, so
// that their results can be read and requests with their key be repeated. Where
// there are too many, the oldest of the tenant that has the most of them goes.
// The zero value of each field stands for its default.
type Retention struct {
	// For is the longest time. The default is 1 h.
	For time.Duration
	// Count is how many of all tenants are kept. The default is 10,000.
	Count int
	// Bytes is how many bytes their results may have together. The default is 64 MiB.
	Bytes int64
}

func (r Retention) withDefaults() (Retention, error) {
	if r.For < 0 || r.Count < 0 || r.Bytes < 0 {
		return r, errors.New("retention of results: want no number below 0")
	}
	r.For = cmp.Or(r.For, time.Hour)
	r.Count = cmp.Or(r.Count, 10_000)
	r.Bytes = cmp.Or(r.Bytes, 64<<20)
	return r, nil
}

// recordBytes is about what a finished invocation takes without its result.
const recordBytes = 1 << 10

// retention decides how long finished invocations are kept.
type retention struct {
	limits Retention
	forget func(*invocation) // called with mu held, for what is not kept any more

	mu      sync.Mutex // guards what follows
	tenants map[tenant.ID]*retained
	count   int
	bytes   int64
	sweep   *time.Timer // drops those that are too old; nil when there are none
}

// retained are the finished invocations of a tenant, the oldest first.
type retained struct {
	list  []retainedOne
	bytes int64
}

type retainedOne struct {
	inv   *invocation
	bytes int64
	since time.Time
}

func newRetention(limits Retention, forget func(*invocation)) *retention {
	return &retention{limits: limits, forget: forget, tenants: map[tenant.ID]*retained{}}
}

// keep adds an invocation that finishes with a result of so many bytes.
func (r *retention) keep(inv *invocation, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.tenants[inv.tenant]
	if of == nil {
		of = &retained{}
		r.tenants[inv.tenant] = of
	}
	one := retainedOne{inv, int64(bytes) + recordBytes, time.Now()}
	of.list = append(of.list, one)
	of.bytes += one.bytes
	r.count++
	r.bytes += one.bytes
	for r.count > r.limits.Count {
		r.dropOldest(r.largest(func(of *retained) int64 { return int64(len(of.list)) }))
	}
	for r.bytes > r.limits.Bytes {
		r.dropOldest(r.largest(func(of *retained) int64 { return of.bytes }))
	}
	r.scheduleSweep()
}

// largest returns the tenant that has the most.
func (r *retention) largest(size func(*retained) int64) (id tenant.ID) {
	most := int64(-1)
	for other, of := range r.tenants {
		if n := size(of); n > most {
			id, most = other, n
		}
	}
	return id
}

// dropOldest forgets the oldest invocation of a tenant.
func (r *retention) dropOldest(id tenant.ID) {
	of := r.tenants[id]
	one := of.list[0]
	of.list[0] = retainedOne{}
	of.list = of.list[1:]
	of.bytes -= one.bytes
	r.count--
	r.bytes -= one.bytes
	if len(of.list) == 0 {
		delete(r.tenants, id)
	}
	r.forget(one.inv)
}

// scheduleSweep makes sure that what gets too old is dropped, a tenth of its
// time late at most.
func (r *retention) scheduleSweep() {
	if r.sweep != nil || r.count == 0 {
		return
	}
	r.sweep = time.AfterFunc(max(r.limits.For/10, time.Millisecond), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sweep = nil
		for id, of := range r.tenants {
			for len(of.list) > 0 && time.Since(of.list[0].since) >= r.limits.For {
				r.dropOldest(id)
			}
		}
		r.scheduleSweep()
	})
}
