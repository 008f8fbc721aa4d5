package vm

import (
	"math"
	"sync/atomic"
	"time"
)

// Go counts memory by process only. What one run holds is found out by walking
// what it can reach (walker.go), which takes about 0.1 µs per object. So a run is
// walked only when it may be over its limit: what was measured last and what it
// has allocated since are together over its ceiling, and so is the whole heap.

// slackMax bounds how far a run may be over its limit before it is walked. It is
// half the limit up to here, so that a walk always follows an allocation of about
// the size that is walked.
const slackMax = 64 << 20

// memory is what a run holds, in bytes.
type memory struct {
	watcher *MemoryWatcher // nil for none
	limit   int64          // 0 for none
	ceiling int64          // limit and slack; the run isn't walked below

	measured        int64 // by the last walk
	grown           int64 // at most, since then
	charged         int64 // by Charge, not in grown yet
	allocatedBefore int64 // by the process, when the run got the processor
	watched         bool  // the heap is so large that allocatedBefore is kept

	walkedAt int64 // steps of the run at the last walk
	visited  int64 // objects that it visited

	// For the other runs:
	size  atomic.Int64 // measured and grown
	total atomic.Int64 // allocated since the run began, at most
	seen  atomic.Int64 // when it last polled, by ElapsedMax
}

func (m *memory) init(limit int64, w *MemoryWatcher) {
	m.watcher, m.limit, m.ceiling = w, limit, math.MaxInt64
	if limit > 0 {
		m.ceiling = limit + min(limit/2, slackMax)
	}
}

// isWatched reports whether the heap is so large that what the run holds may be
// over a limit.
func (m *memory) isWatched(now time.Duration) bool {
	from := m.ceiling
	if m.watcher.limit > 0 {
		from = min(from, m.watcher.limit)
	}
	m.watched = m.watcher.above(from, now)
	return m.watched
}

// resume is called when the run has got the processor again.
func (m *memory) resume() {
	if m.watched {
		m.allocatedBefore = m.watcher.read().allocated
	}
}

// add counts what was allocated while the run had the processor. Other
// processors' share is in it: it is an upper bound.
func (m *memory) add(h heap, now time.Duration) {
	allocated := h.allocated - m.allocatedBefore
	m.allocatedBefore = h.allocated
	m.grown += allocated
	m.total.Add(allocated)
	m.charged = 0
	m.publish(now)
}

func (m *memory) publish(now time.Duration) {
	m.size.Store(m.measured + m.grown)
	m.seen.Store(int64(now))
}

// withinMemoryLimits checks the memory of the run and of the process, before the
// run yields the processor. If the run is over its limit, or evicted, it is
// interrupted.
func (r *Run) withinMemoryLimits(now time.Duration) bool {
	m, w := &r.memory, r.memory.watcher
	if w == nil || !m.isWatched(now) {
		return true
	}
	h := w.read()
	m.add(h, now)
	if min(m.measured+m.grown, h.occupied) > m.ceiling {
		r.measure()
	}
	if r.interrupt == nil && w.limit > 0 && h.live > w.limit && w.isVictim(r, h, now) {
		if m.grown > m.measured/4 {
			r.measure()
		}
		if r.interrupt == nil && w.evict(r, h, now) {
			r.setInterrupt(&Interrupt{Cause: ProcessMemory, Value: w.limit})
		}
	}
	return r.interrupt == nil
}

// measure walks the run, and interrupts it if it is over its limit. A deadline
// that passes meanwhile stops the walk.
func (r *Run) measure() {
	w := walker{run: r}
	if !w.walk() {
		return
	}
	m := &r.memory
	m.measured, m.grown, m.charged = w.bytes, 0, 0
	m.walkedAt, m.visited = r.Steps(), w.visited
	m.publish(r.clock.ElapsedMax())
	if m.limit > 0 && m.measured > m.limit {
		r.setInterrupt(&Interrupt{Cause: Memory, Value: m.limit})
	}
}

// walkSteps is how many steps of a run take as long as visiting one object.
const walkSteps = 10

// Memory returns how many bytes the run holds, as an estimate that lags
// behind: the run is measured again only after as much work as that takes.
func (r *Run) Memory() int64 {
	m := &r.memory
	if r.Steps()-m.walkedAt >= m.visited*walkSteps {
		r.measure()
		if r.interrupt != nil {
			r.RaiseInterrupt()
		}
	}
	return m.measured
}

// Charge is called before a library function makes a value of n bytes, and
// ends the run if it would hold more than its memory limit.
func (r *Run) Charge(n int64) {
	m := &r.memory
	if m.limit <= 0 {
		return
	}
	if n > m.limit || n < 0 {
		r.RaiseLimit(Memory, m.limit)
	}
	m.charged += n
	if m.measured+m.grown+m.charged <= m.ceiling {
		return
	}
	if m.watcher != nil && m.watcher.read().occupied+n <= m.ceiling {
		m.charged = 0 // most of it is garbage that has been collected
		return
	}
	if r.measure(); r.interrupt != nil {
		r.RaiseInterrupt()
	}
	if m.charged = n; m.measured+n > m.ceiling {
		r.RaiseLimit(Memory, m.limit)
	}
}
