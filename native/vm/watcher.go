package vm

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sampleInterval is how often the heap is read while it is small.
	sampleInterval = time.Millisecond
	// alarmInterval is how often each run is made to poll, whatever it does: a
	// few instructions may take long, or make much (a table filled up to an
	// index, a string doubled).
	alarmInterval = 2 * time.Millisecond
	// victimMin is the least that a run holds which is evicted: smaller ones
	// would free nothing.
	victimMin = 8 << 20
	// waitingAfter is after how long without a poll a run is taken to wait for
	// something. It neither grows nor can it be ended at once.
	waitingAfter = 100 * time.Millisecond
	// collectionsToFree is how many garbage collections it takes to free what an
	// evicted run held: the one that is at work may have seen it already.
	collectionsToFree = 2
)

// MemoryWatcher watches the heap of a process for its runs. The heap grows while
// scripts run, so each run checks it when it yields the processor; a timer sees
// to it that they poll. All runs of a process share one watcher and one clock.
type MemoryWatcher struct {
	limit int64
	read  func() heap

	sampledAt atomic.Int64 // by ElapsedMax
	occupied  atomic.Int64 // as in heap, at sampledAt
	allocated atomic.Int64

	mu           sync.Mutex // guards what follows
	runs         map[*Run]struct{}
	timer        *time.Timer // runs while there are runs
	nextEviction int64       // how many collections must be complete before it
}

// heap is one reading of the process's memory, in bytes.
type heap struct {
	allocated int64 // in total, since the start of the process
	occupied  int64 // by objects, garbage that isn't swept yet included
	live      int64 // what the last garbage collection has left
	collected int64 // number of garbage collections that are complete
}

// NewMemoryWatcher makes the watcher of a process. When garbage collections leave
// more than limit bytes, the largest of the runs that are running is ended with
// [ProcessMemory], then the next. 0 means no such limit.
func NewMemoryWatcher(limit int64) *MemoryWatcher {
	w := &MemoryWatcher{limit: limit, read: readHeap, runs: map[*Run]struct{}{}}
	w.timer = time.AfterFunc(time.Hour, w.alarm)
	w.timer.Stop()
	return w
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

func (w *MemoryWatcher) add(r *Run) {
	r.memory.allocatedBefore = w.allocated.Load()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[r] = struct{}{}
	if len(w.runs) == 1 {
		w.timer.Reset(alarmInterval)
	}
}

func (w *MemoryWatcher) remove(r *Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r)
	if len(w.runs) == 0 {
		w.timer.Stop()
	}
}

// alarm makes every run poll before its next instruction.
func (w *MemoryWatcher) alarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.runs {
		r.meter.alarm.Store(true)
	}
	if len(w.runs) > 0 {
		w.timer.Reset(alarmInterval)
	}
}

// above reports whether the heap was larger than size bytes a moment ago.
func (w *MemoryWatcher) above(size int64, now time.Duration) bool {
	if last := w.sampledAt.Load(); int64(now)-last >= int64(sampleInterval) && w.sampledAt.CompareAndSwap(last, int64(now)) {
		h := w.read()
		w.occupied.Store(h.occupied)
		w.allocated.Store(h.allocated)
	}
	return w.occupied.Load() > size
}

// isVictim reports whether r is the run to evict. None is while the last one's
// memory can't have been collected yet.
func (w *MemoryWatcher) isVictim(r *Run, h heap, now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.collected >= w.nextEviction && w.isLargest(r, h, now)
}

// evict reports whether r, which has been measured since, is still the run to
// evict, and counts as evicted from then on.
func (w *MemoryWatcher) evict(r *Run, h heap, now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.collected < w.nextEviction || !w.isLargest(r, h, now) {
		return false
	}
	w.nextEviction = h.collected + collectionsToFree
	return true
}

// isLargest reports whether no run that is running now is larger than r, and r is
// worth evicting. Where runs hold most of the heap in ways that no walk finds,
// the one that has allocated most is the largest.
func (w *MemoryWatcher) isLargest(r *Run, h heap, now time.Duration) bool {
	known := int64(0)
	for other := range w.runs {
		known += other.memory.size.Load()
	}
	size := func(r *Run) int64 { return r.memory.size.Load() }
	if known < h.live/2 {
		size = func(r *Run) int64 { return r.memory.total.Load() }
	}
	for other := range w.runs {
		running := now-time.Duration(other.memory.seen.Load()) < waitingAfter
		if other != r && running && size(other) > size(r) {
			return false
		}
	}
	return size(r) >= victimMin
}
