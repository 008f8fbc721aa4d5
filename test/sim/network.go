package sim

import (
	"context"
	"errors"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// roundTrip is what happens to one request.
type roundTrip struct {
	out, back    time.Duration // how long the request and the answer take
	fault        fault
	again        bool // the answer is delivered twice
	disconnected bool // the connection breaks before the request arrives
	undated      bool // the answer has no date, if the request is not applied
}

type fault string

const (
	answered    fault = "answered"
	lost        fault = "lost"       // never arrives
	unanswered  fault = "unanswered" // arrives, but the answer is lost
	late        fault = "late"       // arrives much later
	throttled   fault = "turned"     // arrives, and is rejected for load
	denied      fault = "denied"     // arrives, and is rejected for good
	unreachable fault = "unreachable"
)

// roundTrip draws what happens to the next request.
func (sim *simulation) roundTrip() roundTrip {
	rnd := sim.rnd
	t := roundTrip{out: around(rnd, sim.network.latency), back: around(rnd, sim.network.latency), fault: answered}
	t.again = rnd.IntN(20) == 0
	if rnd.Float64() < sim.network.faults {
		t.undated = rnd.IntN(10) == 0
		t.fault = pick(rnd, answered, lost, unanswered, unanswered, late, late, throttled, throttled, unreachable, unreachable)
		if rnd.IntN(30) == 0 {
			t.fault = denied
		}
		switch t.fault {
		case answered: // but slowly
			t.back += between(rnd, 0, 3*time.Second)
		case late:
			t.out += between(rnd, 0, pick(rnd, time.Second, sim.network.late))
			t.disconnected = rnd.IntN(2) == 0
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

// send sends a request, which calls land when it arrives, whether its sender is
// still alive or not. It returns when the answer has come, the connection has
// broken, or ctx is done. Only an answer has a date, but for some rejections.
func (p *process) send(ctx context.Context, t roundTrip, land func()) (end fault, date time.Time) {
	sim := p.sim
	if ctx.Err() != nil {
		return unreachable, time.Time{}
	}
	end = lost
	sim.current.wait(func(wake func()) {
		answer := func(f fault) {
			dated := sim.service.date()
			if t.undated && f != answered {
				dated = time.Time{}
			}
			deliver := func() { end, date = f, dated; wake() }
			sim.after(t.back, deliver)
			if t.again {
				sim.after(2*t.back, deliver)
			}
		}
		sim.after(t.out, func() {
			switch t.fault {
			case answered, late:
				land()
				answer(answered)
			case unanswered:
				land()
				sim.after(t.back, wake)
			case throttled, denied:
				answer(t.fault)
			}
		})
		switch {
		case t.disconnected:
			sim.after(t.back, wake)
		case t.fault == lost, t.fault == unreachable:
			sim.after(t.out+t.back, func() { end = t.fault; wake() })
		}
		sim.current.timerOf(ctx)
	})
	if ctx.Err() != nil && end != lost && sim.rnd.IntN(2) == 0 {
		return lost, time.Time{} // the timer was seen first
	}
	return end, date
}

// table is one process's connection to the locks of the service.
type table struct{ process *process }

// PutLock is one attempt of a put.
func (t table) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	p := t.process
	sim := p.sim
	sim.counts.puts++
	sent := putInfo{sent: sim.now, from: sim.now, lease: sim.current.lease, process: p}
	if !sim.current.turn {
		sent.from = sim.current.started
	}
	a := t.send(ctx, func() (outcome.Outcome, *lock.Row) { return sim.service.putLock(row, now, sent) },
		"put", row.Key, row.Owner)
	sim.current.usable = a.Outcome == outcome.Applied || a.Outcome == outcome.Refused
	return a
}

// DeleteLock is one attempt of a conditional delete.
func (t table) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	s := t.process.sim.service
	return t.send(ctx, func() (outcome.Outcome, *lock.Row) { return s.deleteLock(key, owner) },
		"delete", key, owner)
}

func (t table) send(ctx context.Context, land func() (outcome.Outcome, *lock.Row), op string, key lock.Key, owner string) lock.RowResult {
	p := t.process
	sim := p.sim
	a := lock.RowResult{Attempt: outcome.Attempt{Sent: p.clock.Read()}}
	tr := sim.roundTrip()
	n := sim.number()
	if sim.log != nil {
		sim.logf("p%d #%d %s %s as %s: %s, %v out, %v back", p.id, n, op, key.Name, sim.nameOf(owner), tr.fault, tr.out, tr.back)
	}

	var result outcome.Outcome
	var old *lock.Row
	end, date := p.send(ctx, tr, func() {
		result, old = land()
		if sim.log != nil {
			sim.logf("p%d #%d %s arrives: %v", p.id, n, op, result)
		}
	})
	a.Date = date
	switch end {
	case answered:
		a.Outcome, a.Old = result, old
	case throttled:
		a.Outcome, a.Err = outcome.NotApplied, errThrottled
	case denied:
		a.Outcome, a.Err = outcome.NotApplied, errDenied
	case unreachable:
		a.Outcome, a.Err = outcome.NotApplied, errTimeout
	default:
		a.Outcome, a.Err = outcome.Unknown, errNoAnswer
	}
	a.Received = p.clock.Read()
	if sim.log != nil {
		sim.logf("p%d #%d %s is %v", p.id, n, op, a.Outcome)
	}
	return a
}
