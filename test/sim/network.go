package sim

import (
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// trip is what happens to one request.
type trip struct {
	out, back time.Duration
	fate      fate
	again     bool // its answer is delivered twice
	broken    bool // its connection breaks before it arrives
	undated   bool // its answer has no date, if it is turned down
}

type fate string

const (
	answered    fate = "answered"
	lost        fate = "lost"       // never arrives
	unanswered  fate = "unanswered" // arrives, but its answer is lost
	late        fate = "late"       // arrives much later
	turned      fate = "turned"     // arrives, and is turned down
	denied      fate = "denied"     // arrives, and is turned down for good
	unreachable fate = "unreachable"
)

// trip draws what happens to the next request.
func (w *world) trip() trip {
	rnd := w.rnd
	t := trip{out: around(rnd, w.network.latency), back: around(rnd, w.network.latency), fate: answered}
	t.again = rnd.IntN(20) == 0
	if rnd.Float64() < w.network.faults {
		t.undated = rnd.IntN(10) == 0
		t.fate = pick(rnd, answered, lost, unanswered, unanswered, late, late, turned, turned, unreachable, unreachable)
		if rnd.IntN(30) == 0 {
			t.fate = denied
		}
		switch t.fate {
		case answered: // but slowly
			t.back += between(rnd, 0, 3*time.Second)
		case late:
			t.out += between(rnd, 0, pick(rnd, time.Second, w.network.late))
			t.broken = rnd.IntN(2) == 0
		}
	}
	return t
}

var (
	errTimeout   = &outcome.Error{Code: "db_unavailable", Message: "no answer", Retryable: true}
	errThrottled = &outcome.Error{Code: "db_throttled", Message: "turned down", Retryable: true}
	errDenied    = &outcome.Error{Code: "db_denied", Message: "access denied"}
	errNoAnswer  = errors.New("connection reset")
)

// send sends a request, which does land when it arrives, whether its sender
// still lives or not. It returns when the answer has come, the connection has
// broken, or ctx is over. Only what the service answers has a date; what it
// turns down may have none.
func (p *process) send(ctx context.Context, t trip, land func()) (end fate, date time.Time) {
	w := p.world
	if ctx.Err() != nil {
		return unreachable, time.Time{}
	}
	end = lost
	w.current.wait(func(wake func()) {
		answer := func(f fate) {
			dated := w.service.date()
			if t.undated && f != answered {
				dated = time.Time{}
			}
			deliver := func() { end, date = f, dated; wake() }
			w.after(t.back, deliver)
			if t.again {
				w.after(2*t.back, deliver)
			}
		}
		w.after(t.out, func() {
			switch t.fate {
			case answered, late:
				land()
				answer(answered)
			case unanswered:
				land()
				w.after(t.back, wake)
			case turned, denied:
				answer(t.fate)
			}
		})
		switch {
		case t.broken:
			w.after(t.back, wake)
		case t.fate == lost, t.fate == unreachable:
			w.after(t.out+t.back, func() { end = t.fate; wake() })
		}
		w.current.timerOf(ctx)
	})
	if ctx.Err() != nil && end != lost && w.rnd.IntN(2) == 0 {
		return lost, time.Time{} // the timer was seen first
	}
	return end, date
}

// table is one process's way to the locks of the service.
type table struct{ process *process }

// PutLock is one attempt of a put.
func (t table) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	p := t.process
	w := p.world
	w.counts.puts++
	sent := put{sent: w.now, from: w.now, lease: w.current.lease, process: p}
	if !w.current.turn {
		sent.from = w.current.asked
	}
	a := t.send(ctx, func() (outcome.Outcome, *lock.Row) { return w.service.putLock(row, now, sent) },
		"put", row.Key, row.Owner)
	w.current.usable = a.Outcome == outcome.Applied || a.Outcome == outcome.Refused
	return a
}

// DeleteLock is one attempt of a conditional delete.
func (t table) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	s := t.process.world.service
	return t.send(ctx, func() (outcome.Outcome, *lock.Row) { return s.deleteLock(key, owner) },
		"delete", key, owner)
}

func (t table) send(ctx context.Context, land func() (outcome.Outcome, *lock.Row), op string, key lock.Key, owner string) lock.RowResult {
	p := t.process
	w := p.world
	a := lock.RowResult{Attempt: outcome.Attempt{Sent: p.clock.Read()}}
	tr := w.trip()
	n := w.number()
	if w.log != nil {
		w.logf("p%d #%d %s %s as %s: %s, %v out, %v back", p.id, n, op, key.Name, w.nameOf(owner), tr.fate, tr.out, tr.back)
	}

	var result outcome.Outcome
	var old *lock.Row
	end, date := p.send(ctx, tr, func() {
		result, old = land()
		if w.log != nil {
			w.logf("p%d #%d %s lands: %s", p.id, n, op, outcomeNames[result])
		}
	})
	a.Date = date
	switch end {
	case answered:
		a.Outcome, a.Old = result, old
	case turned:
		a.Outcome, a.Err = outcome.NotApplied, errThrottled
	case denied:
		a.Outcome, a.Err = outcome.NotApplied, errDenied
	case unreachable:
		a.Outcome, a.Err = outcome.NotApplied, errTimeout
	default:
		a.Outcome, a.Err = outcome.Unknown, errNoAnswer
	}
	a.Received = p.clock.Read()
	if w.log != nil {
		w.logf("p%d #%d %s is %s", p.id, n, op, outcomeNames[a.Outcome])
	}
	return a
}

var outcomeNames = map[outcome.Outcome]string{
	outcome.Unknown: "unknown", outcome.Applied: "applied", outcome.Refused: "refused", outcome.NotApplied: "not applied",
}
