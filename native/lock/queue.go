package lock

import (
	"cmp"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	// queueLook is how often a waiter looks at the fast hand: a timer stands
	// still while the machine is suspended, and a wait must not.
	queueLook = time.Second

	// A process that has kept a lock in its queue for keptMax or longer leaves
	// it free for a quarter of that time, at most restMax. Without that, callers
	// of one process that hand a lock on to each other would starve those of all
	// others, which poll: every pauseMoving, or every pauseMax while nobody
	// hands it on.
	keptMax = 1400 * time.Millisecond
	restMax = pauseMax

	// slotsKept is the size up to which the map of slots isn't made anew: Go's
	// maps grow, but never shrink.
	slotsKept = 1024
)

// queue serves the callers of this process that want the same lock, in the
// order in which they came. Names that nobody holds or waits for are not in
// it.
type queue struct {
	clock *clock.Dual

	mu    sync.Mutex // guards what follows, and the waiters of every slot
	slots map[Key]*slot
	peak  int // the most slots that the map has had
}

// slot is the place at the head of one lock's queue. It exists as long as
// somebody is in it; whoever is in it alone touches kept and restEnd.
type slot struct {
	key     Key
	waiters list.List // of *waiter, who came first in front

	holding bool          // this process has held the lock since kept
	kept    time.Duration // fast hand
	restEnd time.Duration // fast hand: the lock is left free until then
}

// waiter is one caller in the queue. granted is closed when the slot is its.
type waiter struct {
	granted chan struct{}
	place   *list.Element // nil once granted
}

func newQueue(clk *clock.Dual) *queue {
	return &queue{clock: clk, slots: make(map[Key]*slot)}
}

// enter waits until the slot of key is the caller's, at most until the fast
// hand shows end, and not at all if try is set and somebody is there. It
// returns [ErrHeld] if the wait was over before, or the cause of ctx.
func (q *queue) enter(ctx context.Context, key Key, end time.Duration, try bool) (*slot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, w := q.join(key, try)
	switch {
	case s == nil:
		return nil, ErrHeld
	case w == nil:
		return s, nil
	}
	late := q.wait(ctx, w, end)
	err := context.Cause(ctx)
	if late || err != nil {
		// The slot may have been granted in the same instant: pass it on.
		q.abandon(s, w)
		return nil, cmp.Or(err, ErrHeld)
	}
	return s, nil
}

// join takes the slot of key if nobody is there (w is nil then), or lines up.
func (q *queue) join(key Key, try bool) (s *slot, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s = q.slots[key]
	if s == nil {
		s = &slot{key: key}
		q.slots[key] = s
		q.peak = max(q.peak, len(q.slots))
		return s, nil
	}
	if try {
		return nil, nil
	}
	w = &waiter{granted: make(chan struct{})}
	w.place = s.waiters.PushBack(w)
	return s, w
}

// wait returns once w is granted, ctx is done, or the fast hand has passed
// end, which makes it late.
func (q *queue) wait(ctx context.Context, w *waiter, end time.Duration) (late bool) {
	for {
		left := end - q.clock.ElapsedMax()
		if left < 0 {
			return true
		}
		timer := time.NewTimer(min(max(left, 1), queueLook))
		select {
		case <-w.granted:
			timer.Stop()
			return q.clock.ElapsedMax() > end
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

func (q *queue) abandon(s *slot, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		q.grantNext(s)
		return
	}
	s.waiters.Remove(w.place)
}

// leave gives the slot to who came next.
func (q *queue) leave(s *slot) {
	if s.holding {
		now := q.clock.ElapsedMax()
		if kept := now - s.kept; kept >= keptMax {
			s.holding, s.restEnd = false, now+min(kept/4, restMax)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.grantNext(s)
}

// grantNext needs q.mu.
func (q *queue) grantNext(s *slot) {
	if next := s.waiters.Front(); next != nil {
		w := s.waiters.Remove(next).(*waiter)
		w.place = nil
		close(w.granted)
		return
	}
	delete(q.slots, s.key)
	if q.peak > slotsKept && len(q.slots) <= q.peak/8 {
		q.shrink()
	}
}

// shrink gives back the memory of slots that have gone. It needs q.mu.
func (q *queue) shrink() {
	slots := make(map[Key]*slot, len(q.slots))
	for key, s := range q.slots {
		slots[key] = s
	}
	q.slots, q.peak = slots, len(slots)
}

// won notes that the caller in the slot got the lock that the slot is in front
// of; lost, that another process has it.
func (s *slot) won(now time.Duration) {
	if !s.holding {
		s.holding, s.kept = true, now
	}
}

func (s *slot) lost() { s.holding = false }
