package sql

import "slices"

// loopsMax is how many loops a run may have open on one connection name, if
// that leaves a connection for what is done inside of them.
const loopsMax = 3

// OpenRows are the loops and transactions that one run has open. A loop that was
// left by a break looks like one that goes on, so a loop is closed when its
// connection is needed: by one loop too many, by a call that finds all
// connections in use, and by a statement that would wait for it. It is the least
// recently used one: a loop that goes on fetches again and again.
type OpenRows struct {
	loops        []*Rowset
	transactions map[*pool]bool
}

// NewOpenRows returns the OpenRows of a run that has nothing open.
func NewOpenRows() *OpenRows { return &OpenRows{transactions: map[*pool]bool{}} }

// Close closes all loops.
func (o *OpenRows) Close() {
	for _, r := range o.loops {
		r.Close()
	}
	o.loops = nil
}

// add adds a loop.
func (o *OpenRows) add(r *Rowset) {
	o.loops = slices.DeleteFunc(o.loops, func(r *Rowset) bool { return r.err != nil })
	o.loops = append(o.loops, r)
}

// makeRoom closes a loop if one more would be too many.
func (o *OpenRows) makeRoom(p *pool) {
	if _, n := o.oldest(p); n >= max(1, min(loopsMax, p.connection.MaxOpen-1)) {
		o.closeOldest(p)
	}
}

// nonBlockingKeywords are the keywords of statements that never wait for a loop
// to end.
var nonBlockingKeywords = append([]string{"insert", "update", "delete", "merge", "replace", "set"}, readKeywords...)

// closeBlocking closes all loops if a statement might wait for them: one that
// drops a table waits for all that read it.
func (o *OpenRows) closeBlocking(p *pool, st Statement) {
	if slices.Contains(nonBlockingKeywords, Keyword(st.Text)) {
		return
	}
	for r, _ := o.oldest(p); r != nil; r, _ = o.oldest(p) {
		r.Close()
	}
}

// closeOldest closes the least recently used loop.
func (o *OpenRows) closeOldest(p *pool) {
	if r, _ := o.oldest(p); r != nil {
		r.Close()
	}
}

// oldest returns the least recently used open loop, and how many are open.
func (o *OpenRows) oldest(p *pool) (oldest *Rowset, n int) {
	for _, r := range o.loops {
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
