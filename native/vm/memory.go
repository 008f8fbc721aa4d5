package vm

import (
	"math"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// Go counts memory by process only. Whose it is, is found out by walking what
// a run can reach (memory_walk.go), which takes about 0.1 µs per object. So a
// run is walked only when it may be over its limit: what was measured last and
// what it has allocated since are together over its ceiling, and so is the
// whole heap.

const (
	// slackMax bounds how far a run may be over its limit before it is walked.
	// It is half the limit up to here, so that a walk always follows an
	// allocation of about the size that is walked.
	slackMax = 64 << 20
	// sampleEvery is how often the heap is looked at while it is small.
	sampleEvery = time.Millisecond
	// victimMin is the least that a run holds which is ended for the sake of
	// the process: ending smaller ones would free nothing.
	victimMin = 8 << 20
	// waitingAfter is after how long without a look a run is taken to wait for
	// something. It neither grows nor can it be ended at once.
	waitingAfter = 100 * time.Millisecond
)

// alarmEvery is how often each run is made to look, whatever it does: a few
// instructions may take long, or make much (a table filled up to an index, a
// string doubled).
const alarmEvery = 2 * time.Millisecond

// MemoryWatcher watches the heap of a process for its runs. The heap grows while
// scripts run, so each run looks at it when it hands the processor on; a timer
// sees to it that they look. All runs of a process share one guard, and the
// same hands.
type MemoryWatcher struct {
	limit int64
	read  func() heap

	sampledAt atomic.Int64 // on the fast hand
	occupied  atomic.Int64 // as in heap, at sampledAt
	allocated atomic.Int64

	mu       sync.Mutex // guards what follows
	runs     map[*Run]struct{}
	timer    *time.Timer // runs while there are runs
	quietFor int64       // no run is ended until so many collections are complete
}

// heap is one reading of the process's memory, in bytes.
type heap struct {
	allocated int64 // in total, since the start of the process
	occupied  int64 // by objects, garbage that isn't swept yet included
	live      int64 // what the last garbage collection has left
	collected int64 // number of garbage collections that are complete
}

// NewMemoryWatcher makes the guard of a process. When garbage collections leave more
// than limit bytes, the largest of the runs that are running is ended with
// [ProcessMemory], then the next. 0 means no such limit.
func NewMemoryWatcher(limit int64) *MemoryWatcher {
	g := &MemoryWatcher{limit: limit, read: readHeap, runs: map[*Run]struct{}{}}
	g.timer = time.AfterFunc(time.Hour, g.alarm)
	g.timer.Stop()
	return g
}

func readHeap() heap {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples[:])
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return heap{allocated: value(0), occupied: value(1), live: value(2), collected: value(3)}
}

func (g *MemoryWatcher) enter(r *Run) {
	r.memory.from = g.allocated.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs[r] = struct{}{}
	if len(g.runs) == 1 {
		g.timer.Reset(alarmEvery)
	}
}

func (g *MemoryWatcher) leave(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, r)
	if len(g.runs) == 0 {
		g.timer.Stop()
	}
}

// alarm makes every run look before its next instruction.
func (g *MemoryWatcher) alarm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for r := range g.runs {
		r.alarm.Store(true)
	}
	if len(g.runs) > 0 {
		g.timer.Reset(alarmEvery)
	}
}

// above says whether the heap was larger than size bytes a moment ago.
func (g *MemoryWatcher) above(size int64, now time.Duration) bool {
	if last := g.sampledAt.Load(); int64(now)-last >= int64(sampleEvery) && g.sampledAt.CompareAndSwap(last, int64(now)) {
		h := g.read()
		g.occupied.Store(h.occupied)
		g.allocated.Store(h.allocated)
	}
	return g.occupied.Load() > size
}

// largest says whether no run that is running now is larger than r, and r is
// worth ending. Where runs hold most of the heap in ways that no walk finds,
// the one that has allocated most is the largest.
func (g *MemoryWatcher) largest(r *Run, h heap, now time.Duration) bool {
	known := int64(0)
	for other := range g.runs {
		known += other.memory.size.Load()
	}
	size := func(r *Run) int64 { return r.memory.size.Load() }
	if known < h.live/2 {
		size = func(r *Run) int64 { return r.memory.total.Load() }
	}
	for other := range g.runs {
		running := now-time.Duration(other.memory.seen.Load()) < waitingAfter
		if other != r && running && size(other) > size(r) {
			return false
		}
	}
	return size(r) >= victimMin
}

// chooses says whether r is the run to be ended for the sake of the process.
// While the last one's memory can't have been collected yet, none is.
func (g *MemoryWatcher) chooses(r *Run, h heap, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return h.collected >= g.quietFor && g.largest(r, h, now)
}

// condemns is asked once more after r has been measured. The collection that
// is at work may have seen r's memory already; the one after it won't.
func (g *MemoryWatcher) condemns(r *Run, h heap, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.collected < g.quietFor || !g.largest(r, h, now) {
		return false
	}
	g.quietFor = h.collected + 2
	return true
}

// memory is a run's account of what it holds, in bytes.
type memory struct {
	ceiling  int64 // the run isn't walked below; limit and slack
	measured int64 // by the last walk
	grown    int64 // at most, since then
	charged  int64 // by Charge, not in grown yet
	from     int64 // heap.allocated when the run got the processor
	watched  bool  // from is worth reading

	walkedAt int64 // steps of the run at the last walk
	visited  int64 // objects that it visited

	// For the other runs:
	size  atomic.Int64 // measured and grown
	total atomic.Int64 // allocated since the run began, at most
	seen  atomic.Int64 // when it last looked, on the fast hand
}

func (m *memory) init(limit int64) {
	m.ceiling = math.MaxInt64
	if limit > 0 {
		m.ceiling = limit + min(limit/2, slackMax)
	}
}

// settle books what was allocated while the run had the processor. Other
// processors' share is in it: it is an upper bound.
func (m *memory) settle(h heap, now time.Duration) {
	made := h.allocated - m.from
	m.from = h.allocated
	m.grown += made
	m.total.Add(made)
	m.charged = 0
	m.publish(now)
}

func (m *memory) publish(now time.Duration) {
	m.size.Store(m.measured + m.grown)
	m.seen.Store(int64(now))
}

// minded says whether the memory of the run is in order, before it hands the
// processor on; if not, the kill token is set.
func (r *Run) minded(now time.Duration) bool {
	g, m := r.guard, &r.memory
	watchFrom := m.ceiling
	if g.limit > 0 {
		watchFrom = min(watchFrom, g.limit)
	}
	m.watched = g.above(watchFrom, now)
	if !m.watched {
		return true
	}
	h := g.read()
	m.settle(h, now)
	if min(m.measured+m.grown, h.occupied) > m.ceiling {
		r.measure()
	}
	if r.kill == nil && g.limit > 0 && h.live > g.limit && g.chooses(r, h, now) {
		if m.grown > m.measured/4 {
			r.measure()
		}
		if r.kill == nil && g.condemns(r, h, now) {
			r.setKill(&Interrupt{Cause: ProcessMemory, Value: g.limit})
		}
	}
	return r.kill == nil
}

// measure walks the run, and sets the kill token if it is over its limit. An
// end that passes meanwhile stops the walk.
func (r *Run) measure() {
	w := walker{run: r}
	if !w.walk() {
		return
	}
	m := &r.memory
	m.measured, m.grown, m.charged = w.bytes, 0, 0
	m.walkedAt, m.visited = r.Steps(), w.visited
	m.publish(r.clock.ElapsedMax())
	if limit := r.limits.MemoryBytes; limit > 0 && m.measured > limit {
		r.setKill(&Interrupt{Cause: Memory, Value: limit})
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
		if r.kill != nil {
			r.RaiseInterrupt()
		}
	}
	return m.measured
}

// Charge is called before a library function makes a value of n bytes, and
// ends the run if it would hold more than its memory limit.
func (r *Run) Charge(n int64) {
	limit, m := r.limits.MemoryBytes, &r.memory
	if limit <= 0 {
		return
	}
	if n > limit || n < 0 {
		r.RaiseLimit(Memory, limit)
	}
	m.charged += n
	if m.measured+m.grown+m.charged <= m.ceiling {
		return
	}
	if r.guard != nil && r.guard.read().occupied+n <= m.ceiling {
		m.charged = 0 // most of it is garbage that has been collected
		return
	}
	if r.measure(); r.kill != nil {
		r.RaiseInterrupt()
	}
	if m.charged = n; m.measured+n > m.ceiling {
		r.RaiseLimit(Memory, limit)
	}
}
