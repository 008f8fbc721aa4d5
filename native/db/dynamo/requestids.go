package dynamo

import "sync"

// recentIDs is how many request ids are remembered.
const recentIDs = 4096

// requestIDs are the ids of the last answers. Each answer of the service has its
// own, so one that comes again is an answer to an earlier request: a cache need not
// say that it is one.
type requestIDs struct {
	mu   sync.Mutex // guards what follows
	seen map[string]bool
	ring [recentIDs]string
	next int // where the oldest one is
}

// add remembers id, and reports whether it is new.
func (r *requestIDs) add(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	delete(r.seen, r.ring[r.next])
	r.ring[r.next], r.seen[id] = id, true
	r.next = (r.next + 1) % recentIDs
	return true
}
