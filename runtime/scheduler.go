package runtime

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/fair"
	"github.com/tidelock-lua/tidelock/tenant"
)

// scheduler lets at most as many runs execute Lua at a time as there are
// processors. Each run has a slot and executes Lua only while it holds it. A
// run that holds its slot yields every 200 µs if others wait for theirs:
// tenants take turns, and so do the runs of one tenant. So a short script of a
// quiet tenant waits for one time slice of each tenant, not of each script.
type scheduler struct {
	waiting atomic.Int32 // length of queue, to be read without the lock

	mu    sync.Mutex // guards what follows
	free  int        // how many more slots may be held
	queue fair.Queue[*slot]
	held  []*slot
}

// stuckAfter is how long a run may hold its slot without yielding while others
// wait. One that takes longer executes no Lua, but is in a native call that
// blocks or in a very long instruction. It is preempted, and waits for its slot
// again the next time it yields.
const stuckAfter = 10 * time.Millisecond

func newScheduler(processors int) *scheduler { return &scheduler{free: processors} }

// slot is the right of one run to execute Lua, while it is held.
type slot struct {
	*scheduler
	tenant  tenant.ID
	isHeld  atomic.Bool   // written under the lock
	since   time.Time     // when it was granted; guarded by mu
	granted chan struct{} // receives when the slot is granted to a run that waits; nil if it never has waited
	timer   *time.Timer
}

var _ vm.Slot = (*slot)(nil)

// newSlot returns the slot of a new run, which doesn't hold it yet.
func (s *scheduler) newSlot(id tenant.ID) *slot { return &slot{scheduler: s, tenant: id} }

// Yield lets those that wait go first and waits until the slot is granted
// again. It returns false, without the slot, after d or when done is closed.
func (s *slot) Yield(done <-chan struct{}, d time.Duration) bool {
	if s.isHeld.Load() && s.waiting.Load() == 0 {
		runtime.Gosched() // to goroutines that execute no Lua
		return true
	}
	s.mu.Lock()
	s.release(s)
	if s.free > 0 && s.queue.Len() == 0 {
		s.grant(s)
		s.mu.Unlock()
		return true
	}
	s.enqueue(s)
	s.dispatch()
	s.mu.Unlock()
	return s.wait(done, d)
}

// Release gives the slot back, while the run waits for something else or
// because it is over.
func (s *slot) Release() {
	if s.isHeld.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.release(s)
		s.dispatch()
	}
}

// wait waits until the slot is granted, and meanwhile preempts those that are
// stuck.
func (s *slot) wait(done <-chan struct{}, d time.Duration) bool {
	if s.timer == nil {
		s.timer = time.NewTimer(stuckAfter)
	}
	defer s.timer.Stop()
	for end := time.Now().Add(d); ; d = time.Until(end) {
		s.timer.Reset(min(d, s.preemptInterval()))
		select {
		case <-s.granted:
			return true
		case <-done:
			return s.giveUp()
		case <-s.timer.C:
			if d <= stuckAfter {
				return s.giveUp()
			}
			s.preemptStuck()
		}
	}
}

// giveUp leaves the queue. If the slot has been granted meanwhile, it keeps it
// and returns true.
func (s *slot) giveUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isHeld.Load() {
		<-s.granted
		return true
	}
	s.queue.Remove(s.tenant, s)
	s.waiting.Add(-1)
	return false
}

// preemptInterval is how often a run that waits looks for slots that are stuck.
// One of a few that wait has to, but thousands would hold each other up.
func (s *scheduler) preemptInterval() time.Duration {
	const few, most = 8, 100
	return stuckAfter * time.Duration(min(max(s.waiting.Load()/few, 1), most))
}

// preemptStuck takes the slots of runs that are stuck. Whoever calls it has
// waited for that long, so they had reason to yield. A run that hasn't received
// from granted yet, because the process was stopped or the processor busy,
// keeps its slot.
func (s *scheduler) preemptStuck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range slices.Clone(s.held) {
		if len(h.granted) == 0 && time.Since(h.since) > stuckAfter {
			s.release(h)
		}
	}
	s.dispatch()
}

// release takes the slot back, if it is held.
func (s *scheduler) release(h *slot) {
	if h.isHeld.Swap(false) {
		i := slices.Index(s.held, h)
		s.held = slices.Delete(s.held, i, i+1)
		s.free++
	}
}

func (s *scheduler) enqueue(w *slot) {
	if w.granted == nil {
		w.granted = make(chan struct{}, 1)
	}
	s.queue.Push(w.tenant, w)
	s.waiting.Add(1)
}

// dispatch grants slots to those that wait, while there are free ones.
func (s *scheduler) dispatch() {
	for s.free > 0 && s.queue.Len() > 0 {
		w, _ := s.queue.Pop()
		s.waiting.Add(-1)
		s.grant(w)
		w.granted <- struct{}{}
	}
}

func (s *scheduler) grant(w *slot) {
	s.free--
	s.held = append(s.held, w)
	w.since = time.Now()
	w.isHeld.Store(true)
}
