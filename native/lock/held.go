package lock

// Held is the set of locks that one run holds. A run that asks for one of them
// could only wait for itself. It belongs to its run and is used by one
// goroutine at a time. A nil Held holds nothing.
type Held struct {
	locks map[heldLock]struct{}
}

type heldLock struct {
	key   Key
	scope Scope
}

func (h *Held) has(r Request) bool {
	if h == nil {
		return false
	}
	_, ok := h.locks[heldLock{r.Key, r.Scope}]
	return ok
}

func (h *Held) add(r Request) {
	if h == nil {
		return
	}
	if h.locks == nil {
		h.locks = make(map[heldLock]struct{})
	}
	h.locks[heldLock{r.Key, r.Scope}] = struct{}{}
}

func (h *Held) remove(r Request) {
	if h != nil {
		delete(h.locks, heldLock{r.Key, r.Scope})
	}
}
