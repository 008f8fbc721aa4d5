package task

import (
	"sync"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/api"
	"github.com/tidelock-lua/tidelock/task/runner"
	"github.com/tidelock-lua/tidelock/tenant"
)

// registry knows all invocations from when they are accepted until their
// results are not kept any more.
type registry struct {
	mu     sync.Mutex // guards what follows
	closed bool
	byID   map[string]*invocation
	byKey  map[requestKey]*invocation
	// inFlight counts accepted invocations without a result, and reservations.
	// It grows only while the registry is not closed.
	inFlight sync.WaitGroup
}

// requestKey is what a repeated request has in common with the first one.
type requestKey struct {
	tenant tenant.ID
	script string
	key    string // Idempotency-Key
}

func newRegistry() *registry {
	return &registry{byID: map[string]*invocation{}, byKey: map[requestKey]*invocation{}}
}

// admit adds an invocation and calls enter for it, unless a request with the
// same key has already made one: then it returns that. Both happen in one step,
// so that of requests at the same time one enters. The error is that of enter,
// or says why the invocation can't be accepted.
func (r *registry) admit(inv *invocation, enter func() *runtime.Error) (admitted *invocation, failed *runtime.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.byKey[inv.key]; first != nil && inv.key.key != "" {
		if first.digest != inv.digest {
			return nil, api.KeyConflict()
		}
		return first, nil
	}
	if r.closed {
		return nil, runner.Shutdown()
	}
	r.inFlight.Add(1) // before enter, after which it may be over at any time
	if failed := enter(); failed != nil {
		r.inFlight.Done()
		return nil, failed
	}
	r.put(inv)
	return inv, nil
}

// reserve counts an invocation that is about to be added, unless the registry
// is closed.
func (r *registry) reserve() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.inFlight.Add(1)
	}
	return !r.closed
}

// add adds an invocation for which there is a reservation.
func (r *registry) add(inv *invocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(inv)
}

func (r *registry) put(inv *invocation) {
	r.byID[inv.id] = inv
	if inv.key.key != "" {
		r.byKey[inv.key] = inv
	}
}

// forget removes an invocation whose result is not kept any more.
func (r *registry) forget(inv *invocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, inv.id)
	if inv.key.key != "" {
		delete(r.byKey, inv.key)
	}
}

func (r *registry) find(id string) *invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *registry) all() []*invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*invocation, 0, len(r.byID))
	for _, inv := range r.byID {
		all = append(all, inv)
	}
	return all
}

// close refuses what comes from now on.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *registry) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
