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
	// queuePoll is how often a waiter reads its clocks: a timer stands still
	// while the machine is suspended, and a wait must not.
	queuePoll = time.Second

	// A process whose callers have passed a lock on to each other for keptMax or
	// longer leaves it free for a cooldown: a quarter of that time, at most
	// cooldownMax. Without it they would starve the callers of other processes,
	// which poll: every pauseOwnerChanged, or every pauseMax while the owner
	// stays the same.
	keptMax     = 1400 * time.Millisecond
	cooldownMax = pauseMax

	// shrinkMin is the size below which the map of slots isn't made anew: Go's
	// maps grow, but never shrink.
	shrinkMin = 1024
)

// queue serves the callers of this process that want the same lock, in the
// order in which they came. It has no slot for a lock that no caller holds or
// waits for.
type queue struct {
	clock *clock.Dual

	mu    sync.Mutex // guards what follows, and the waiters of every slot
	slots map[Key]*slot
	peak  int // the most slots that the map has had
}

// slot belongs to one caller at a time: the one that holds the lock or may
// acquire it next. Only that caller touches the last three fields.
type slot struct {
	key     Key
	waiters list.List // of *waiter, the first to come in front

	kept        bool          // this process has held the lock since keptSince
	keptSince   time.Duration // on ElapsedMax
	cooldownEnd time.Duration // on ElapsedMax; 0 is no cooldown
}

// waiter is one caller in the queue. granted is closed when it gets the slot.
type waiter struct {
	granted chan struct{}
	element *list.Element // in the slot's waiters; nil once granted
}

func newQueue(clk *clock.Dual) *queue {
	return &queue{clock: clk, slots: make(map[Key]*slot)}
}

// enter waits until the slot of key is the caller's, at most until ElapsedMax
// reaches end; with noWait it doesn't wait at all. It returns [ErrHeld] if the
// slot was not free in time, or the cause of ctx.
func (q *queue) enter(ctx context.Context, key Key, end time.Duration, noWait bool) (*slot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, w := q.join(key, noWait)
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
		return nil, cmp.Or[error](err, ErrHeld)
	}
	return s, nil
}

// join takes the slot of key if it is free; then w is nil. Otherwise it joins
// the waiters, or returns no slot if noWait is set.
func (q *queue) join(key Key, noWait bool) (s *slot, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s = q.slots[key]
	if s == nil {
		s = &slot{key: key}
		q.slots[key] = s
		q.peak = max(q.peak, len(q.slots))
		return s, nil
	}
	if noWait {
		return nil, nil
	}
	w = &waiter{granted: make(chan struct{})}
	w.element = s.waiters.PushBack(w)
	return s, w
}

// wait returns once w is granted, ctx is done, or ElapsedMax has passed end,
// which makes it late.
func (q *queue) wait(ctx context.Context, w *waiter, end time.Duration) (late bool) {
	for {
		left := end - q.clock.ElapsedMax()
		if left < 0 {
			return true
		}
		timer := time.NewTimer(min(max(left, 1), queuePoll))
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

// abandon takes w out of the queue, and passes the slot on if w was granted it.
func (q *queue) abandon(s *slot, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.element == nil {
		q.grantNext(s)
		return
	}
	s.waiters.Remove(w.element)
}

// leave passes the slot on to the next waiter.
func (q *queue) leave(s *slot) {
	if s.kept {
		now := q.clock.ElapsedMax()
		if d := now - s.keptSince; d >= keptMax {
			s.kept, s.cooldownEnd = false, now+min(d/4, cooldownMax)
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
		w.element = nil
		close(w.granted)
		return
	}
	delete(q.slots, s.key)
	if q.peak > shrinkMin && len(q.slots) <= q.peak/8 {
		q.shrink()
	}
}

// shrink frees the memory of slots that have gone. It needs q.mu.
func (q *queue) shrink() {
	slots := make(map[Key]*slot, len(q.slots))
	for key, s := range q.slots {
		slots[key] = s
	}
	q.slots, q.peak = slots, len(slots)
}

// noteAcquired notes that this process has acquired the slot's lock; noteLost,
// that another process has held it.
func (s *slot) noteAcquired(now time.Duration) {
	if !s.kept {
		s.kept, s.keptSince = true, now
	}
}

func (s *slot) noteLost() { s.kept = false }
