package lock

import "slices"

// Held is the set of locks that one run holds. A run that waited for one of
// them could only wait for itself. It belongs to its run and is used by one
// goroutine at a time. A nil Held holds nothing.
type Held struct{ locks []lockID } // few, so that no index is needed

type lockID struct {
	key   Key
	scope Scope
}

func (h *Held) has(id lockID) bool { return h != nil && slices.Contains(h.locks, id) }

func (h *Held) add(id lockID) {
	if h != nil {
		h.locks = append(h.locks, id)
	}
}

func (h *Held) remove(id lockID) {
	if h == nil {
		return
	}
	if i := slices.Index(h.locks, id); i >= 0 {
		h.locks = slices.Delete(h.locks, i, i+1)
	}
}
