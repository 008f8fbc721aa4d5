package task

import (
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Retention says for how long, and how many, finished invocations can be asked for,
// and requests with their key be repeated. Where there are too many, the oldest
// of the tenant that has the most of them goes. The zero value of each field
// stands for the default that its comment names.
type Retention struct {
	// For is the longest time. Default 1 h.
	For time.Duration
	// Count is how many of all tenants are kept. Default 10,000.
	Count int
	// Bytes is how many bytes their results may have together. Default 64 MiB.
	Bytes int64
}

func (k Retention) withDefaults() (Retention, error) {
	if k.For < 0 || k.Count < 0 || k.Bytes < 0 {
		return k, errors.New("what is kept of results: want no number below 0")
	}
	setDefault(&k.For, time.Hour)
	setDefault(&k.Count, 10_000)
	setDefault(&k.Bytes, 64<<20)
	return k, nil
}

// recordBytes is about what a finished invocation takes besides its result.
const recordBytes = 1 << 10

// results are the finished invocations. It is guarded by the host's lock.
type results struct {
	limits  Retention
	tenants map[tenant.ID]*kept
	count   int
	bytes   int64
	sweep   *time.Timer // looks for those that are too old; nil when there are none
}

// kept are the finished invocations of a tenant, the oldest first.
type kept struct {
	list  []*finishedOne
	bytes int64
}

type finishedOne struct {
	*invocation
	at time.Time
}

func (f *finishedOne) size() int64 { return int64(cap(f.body)) + recordBytes }

// keep adds an invocation that has just finished.
func (r *results) keep(h *Host, inv *invocation) {
	k := r.tenants[inv.tenant]
	if k == nil {
		k = &kept{}
		r.tenants[inv.tenant] = k
	}
	f := &finishedOne{inv, time.Now()}
	k.list = append(k.list, f)
	k.bytes += f.size()
	r.count++
	r.bytes += f.size()
	for r.count > r.limits.Count {
		r.drop(h, r.largest(func(k *kept) int64 { return int64(len(k.list)) }))
	}
	for r.bytes > r.limits.Bytes {
		r.drop(h, r.largest(func(k *kept) int64 { return k.bytes }))
	}
	r.schedule(h)
}

// largest returns the tenant that has the most.
func (r *results) largest(of func(*kept) int64) (id tenant.ID) {
	most := int64(-1)
	for other, k := range r.tenants {
		if n := of(k); n > most {
			id, most = other, n
		}
	}
	return id
}

// drop forgets the oldest of a tenant's.
func (r *results) drop(h *Host, id tenant.ID) {
	k := r.tenants[id]
	f := k.list[0]
	k.list[0] = nil
	k.list = k.list[1:]
	k.bytes -= f.size()
	r.count--
	r.bytes -= f.size()
	if len(k.list) == 0 {
		delete(r.tenants, id)
	}
	delete(h.known, f.id)
	if f.key != nil {
		delete(h.replays, *f.key)
	}
}

// schedule sees to it that what gets too old is dropped, a tenth of its time
// late at most.
func (r *results) schedule(h *Host) {
	if r.sweep != nil || r.count == 0 {
		return
	}
	r.sweep = time.AfterFunc(max(r.limits.For/10, time.Millisecond), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		r.sweep = nil
		for id, k := range r.tenants {
			for len(k.list) > 0 && time.Since(k.list[0].at) >= r.limits.For {
				r.drop(h, id)
			}
		}
		r.schedule(h)
	})
}
