package sim

import (
	"container/heap"
	"time"
)

// event is something that will happen.
type event struct {
	at     time.Duration
	seq    int // of two events at one time, the one scheduled first happens first
	index  int // in the heap
	happen func()
}

// timer is a reference to an event that may have happened by now.
type timer struct {
	event *event
	seq   int
}

// eventQueue holds the events to come. Most of them are timers of requests that
// are answered, so events can be cancelled, and their memory is used again.
type eventQueue struct {
	heap eventHeap
	seq  int
	free []*event
}

func (q *eventQueue) push(at time.Duration, happen func()) timer {
	q.seq++
	var e *event
	if last := len(q.free) - 1; last >= 0 {
		e, q.free = q.free[last], q.free[:last]
	} else {
		e = new(event)
	}
	e.at, e.seq, e.happen = at, q.seq, happen
	heap.Push(&q.heap, e)
	return timer{e, e.seq}
}

// pop removes the next event.
func (q *eventQueue) pop() *event { return heap.Pop(&q.heap).(*event) }

// cancel removes the event of t, unless it has happened.
func (q *eventQueue) cancel(t timer) {
	if e := t.event; e.seq == t.seq {
		heap.Remove(&q.heap, e.index)
		q.recycle(e)
	}
}

// recycle takes back an event that is not in the heap any more.
func (q *eventQueue) recycle(e *event) {
	e.seq, e.happen = 0, nil
	q.free = append(q.free, e)
}

// eventHeap is a [heap.Interface] whose first element is the next event.
type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h eventHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push appends x, which is an *event.
func (h *eventHeap) Push(x any) {
	e := x.(*event)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop removes the last element.
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
