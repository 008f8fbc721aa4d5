package sql

import "slices"

// loopsMax is how many loops a run may have open on one connection name, if
// that leaves a connection for what is done inside of them.
const loopsMax = 3

// OpenRows is what one run has open. A loop that is left by a break looks like
// one that goes on, so it is closed when its connection is needed: by one loop
// too many, by a call that finds all connections in use, and by a statement that
// would wait for it. It is the one that was asked longest ago; a loop that goes
// on is asked again and again.
type OpenRows struct {
	loops        []*Rowset
	transactions map[*pool]bool
}

// NewOpenRows returns that of a run that has nothing open.
func NewOpenRows() *OpenRows { return &OpenRows{transactions: map[*pool]bool{}} }

// Close closes all loops.
func (h *OpenRows) Close() {
	for _, r := range h.loops {
		r.Close()
	}
	h.loops = nil
}

// add adds a loop.
func (h *OpenRows) add(r *Rowset) {
	h.loops = slices.DeleteFunc(h.loops, func(r *Rowset) bool { return r.err != nil })
	h.loops = append(h.loops, r)
}

// makeRoom closes a loop if one more would be too many.
func (h *OpenRows) makeRoom(p *pool) {
	if _, n := h.oldest(p); n >= max(1, min(loopsMax, p.connection.MaxOpen-1)) {
		h.giveUp(p)
	}
}

// unhindered are the verbs of statements that never wait for a loop to end.
var unhindered = append([]string{"insert", "update", "delete", "merge", "replace", "set"}, reads...)

// makeWay closes all loops if a statement might wait for them: one that drops a
// table waits for all that read it.
func (h *OpenRows) makeWay(p *pool, st Statement) {
	if slices.Contains(unhindered, Verb(st.Text)) {
		return
	}
	for r, _ := h.oldest(p); r != nil; r, _ = h.oldest(p) {
		r.Close()
	}
}

// giveUp closes the loop that was asked longest ago.
func (h *OpenRows) giveUp(p *pool) {
	if r, _ := h.oldest(p); r != nil {
		r.Close()
	}
}

// oldest is the open loop that was asked longest ago, and how many are open.
func (h *OpenRows) oldest(p *pool) (oldest *Rowset, n int) {
	for _, r := range h.loops {
		if r.session.pool != p || r.err != nil {
			continue
		}
		n++
		if oldest == nil || r.used < oldest.used {
			oldest = r
		}
	}
	return oldest, n
}
