package lock

import "slices"

// Held is the set of locks that one run holds. A run that asks for one of them
// could only wait for itself. It belongs to its run and is used by one
// goroutine at a time. A nil Held holds nothing.
type Held struct{ locks []heldLock } // few, so that no index is needed

type heldLock struct {
	key   Key
	scope Scope
}

func (h *Held) has(l heldLock) bool { return h != nil && slices.Contains(h.locks, l) }

func (h *Held) add(l heldLock) {
	if h != nil {
		h.locks = append(h.locks, l)
	}
}

func (h *Held) remove(l heldLock) {
	if h == nil {
		return
	}
	if i := slices.Index(h.locks, l); i >= 0 {
		h.locks = slices.Delete(h.locks, i, i+1)
	}
}
