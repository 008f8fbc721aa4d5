package sim

import "time"

// event is something that will happen.
type event struct {
	at     time.Duration
	seq    int // of events at one time, the one that was asked for first comes first
	place  int // in the heap
	happen func()
}

// events are those to come: a heap in which each one has four below it, the
// next one first. Most events are timers that are never needed, so they can be
// taken out again.
type events struct {
	heap []*event
	seq  int
	free []*event // to be used again
}

// appointment is a hold on an event that may have happened by now.
type appointment struct {
	event *event
	seq   int
}

func (q *events) push(at time.Duration, happen func()) appointment {
	q.seq++
	var e *event
	if last := len(q.free) - 1; last >= 0 {
		e, q.free = q.free[last], q.free[:last]
	} else {
		e = new(event)
	}
	e.at, e.seq, e.happen = at, q.seq, happen
	q.heap = append(q.heap, e)
	q.up(e, len(q.heap)-1)
	return appointment{e, e.seq}
}

// pop takes the next event out.
func (q *events) pop() *event {
	first := q.heap[0]
	q.remove(0)
	return first
}

// cancel takes an event out, unless that has happened.
func (q *events) cancel(a appointment) {
	if e := a.event; e.seq == a.seq {
		q.remove(e.place)
		q.recycle(e)
	}
}

// recycle takes back an event that is out of the heap.
func (q *events) recycle(e *event) {
	e.seq, e.happen = 0, nil
	q.free = append(q.free, e)
}

// remove closes the gap that an event leaves with the last one.
func (q *events) remove(place int) {
	end := len(q.heap) - 1
	last := q.heap[end]
	q.heap[end] = nil
	q.heap = q.heap[:end]
	if place < end {
		q.down(last, place)
		if last.place == place {
			q.up(last, place)
		}
	}
}

// up puts e where it belongs, at place or above.
func (q *events) up(e *event, place int) {
	for place > 0 {
		above := (place - 1) / 4
		if !e.before(q.heap[above]) {
			break
		}
		q.put(q.heap[above], place)
		place = above
	}
	q.put(e, place)
}

// down puts e where it belongs, at place or below.
func (q *events) down(e *event, place int) {
	for {
		below := 4*place + 1
		if below >= len(q.heap) {
			break
		}
		next := below
		for i := below + 1; i < min(below+4, len(q.heap)); i++ {
			if q.heap[i].before(q.heap[next]) {
				next = i
			}
		}
		if !q.heap[next].before(e) {
			break
		}
		q.put(q.heap[next], place)
		place = next
	}
	q.put(e, place)
}

func (q *events) put(e *event, place int) { q.heap[place], e.place = e, place }

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }
