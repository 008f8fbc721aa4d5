package runtime

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/tenant"
)

// admission lets so many runs execute Lua at a time as it has slots, one per
// processor. Whoever has a slot passes it on every 200 µs if somebody waits:
// tenants take turns, and so do the runs of a tenant among themselves. So a
// short script of a quiet tenant waits for a turn of each tenant, not of each
// script.
type admission struct {
	waiting atomic.Int32 // seats in lines, for a look without the lock

	mu      sync.Mutex // guards what follows
	free    int        // slots that nobody holds
	lines   []*line    // of the tenants whose runs wait; the first has the next turn
	holders []*seat
}

// line is the queue of a tenant; its first seat is the next.
type line struct {
	tenant tenant.ID
	seats  []*seat
}

// stuckAfter is how long a run may keep its slot from others that wait without
// looking at its turn. What takes longer is no Lua but a native call that
// waits, or a very long instruction: the slot is taken away, and when the run
// looks again it gets in line.
const stuckAfter = 10 * time.Millisecond

func newAdmission(slots int) *admission { return &admission{free: slots} }

// seat is a run's place in the admission, the run's [vm.Slot].
type seat struct {
	*admission
	tenant tenant.ID
	holds  atomic.Bool   // has a slot; written under the lock
	since  time.Time     // when it got the slot; guarded by mu
	ready  chan struct{} // told when it gets a slot that it waits for; nil if it never has waited
	timer  *time.Timer
}

var _ vm.Slot = (*seat)(nil)

func (a *admission) seat(id tenant.ID) *seat {
	return &seat{admission: a, tenant: id}
}

// Yield lets those in line go first and waits for the seat's next turn. It
// returns false, without a slot, if d or done was sooner.
func (s *seat) Yield(done <-chan struct{}, d time.Duration) bool {
	if s.holds.Load() && s.waiting.Load() == 0 {
		runtime.Gosched() // to what isn't a script
		return true
	}
	s.mu.Lock()
	s.giveUp(s)
	if s.free > 0 && len(s.lines) == 0 {
		s.give(s)
		s.mu.Unlock()
		return true
	}
	s.getInLine(s)
	s.serve()
	s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.NewTimer(stuckAfter)
	}
	defer s.timer.Stop()
	for end := time.Now().Add(d); ; d = time.Until(end) {
		s.timer.Reset(min(d, s.lookAfter()))
		select {
		case <-s.ready:
			return true
		case <-done:
			return s.stay()
		case <-s.timer.C:
			if d <= stuckAfter {
				return s.stay()
			}
			s.takeAway()
		}
	}
}

// Release gives the slot up, while the run waits for something else or for good.
func (s *seat) Release() {
	if s.holds.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.giveUp(s)
		s.serve()
	}
}

// stay gets out of the line, unless the slot has come meanwhile.
func (s *seat) stay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds.Load() {
		<-s.ready
		return true
	}
	i := slices.IndexFunc(s.lines, func(l *line) bool { return l.tenant == s.tenant })
	l := s.lines[i]
	l.seats = slices.DeleteFunc(l.seats, func(other *seat) bool { return other == s })
	if len(l.seats) == 0 {
		s.lines = slices.Delete(s.lines, i, i+1)
	}
	s.waiting.Add(-1)
	return false
}

// lookAfter is when to look for seats that keep a slot for too long. One of a
// few that wait has to, but thousands would hold each other up.
func (a *admission) lookAfter() time.Duration {
	const few, most = 8, 100
	return stuckAfter * time.Duration(min(max(a.waiting.Load()/few, 1), most))
}

// takeAway frees the slots of those who have kept one for too long. Whoever
// calls it has waited as long, so they had reason to pass theirs on. A seat
// that hasn't been told of its slot yet, because the process was stopped or the
// processor busy, keeps it.
func (a *admission) takeAway() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range slices.Clone(a.holders) {
		if len(s.ready) == 0 && time.Since(s.since) > stuckAfter {
			a.giveUp(s)
		}
	}
	a.serve()
}

// giveUp frees the slot of s, if it holds one.
func (a *admission) giveUp(s *seat) {
	if s.holds.Swap(false) {
		a.holders = slices.DeleteFunc(a.holders, func(other *seat) bool { return other == s })
		a.free++
	}
}

func (a *admission) getInLine(s *seat) {
	if s.ready == nil {
		s.ready = make(chan struct{}, 1)
	}
	a.waiting.Add(1)
	for _, l := range a.lines {
		if l.tenant == s.tenant {
			l.seats = append(l.seats, s)
			return
		}
	}
	a.lines = append(a.lines, &line{s.tenant, []*seat{s}})
}

// serve gives free slots to those who wait. A tenant that was served goes
// behind the others.
func (a *admission) serve() {
	for a.free > 0 && len(a.lines) > 0 {
		l := a.lines[0]
		a.lines = slices.Delete(a.lines, 0, 1)
		s := l.seats[0]
		if l.seats = slices.Delete(l.seats, 0, 1); len(l.seats) > 0 {
			a.lines = append(a.lines, l)
		}
		a.waiting.Add(-1)
		a.give(s)
		s.ready <- struct{}{}
	}
}

// give gives a free slot to s.
func (a *admission) give(s *seat) {
	a.free--
	a.holders = append(a.holders, s)
	s.since = time.Now()
	s.holds.Store(true)
}
