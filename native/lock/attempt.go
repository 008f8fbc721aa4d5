package lock

import (
	"cmp"
	"context"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// attemptMax is the longest that one attempt may take; it ends with the lease
// too.
const attemptMax = 1500 * time.Millisecond

// sentPut is a put that was sent.
type sentPut struct {
	row       Row
	leaseFrom time.Duration // on ElapsedMax: the lease counts from here
}

// attempt sends one put, after a probe for the table's time if that isn't
// known.
func (a *acquisition) attempt(ctx context.Context) result {
	if err := context.Cause(ctx); err != nil {
		return result{err: err, final: true}
	}
	now := a.clock.Read()
	interval := a.time.At(now)
	if !interval.Known() {
		r := a.learnTime(ctx)
		if r.final {
			return r
		}
		now = a.clock.Read()
		switch interval = a.time.At(now); {
		case !interval.Known():
			return result{err: cmp.Or(r.err, errTimeUnknown(a.req.Key))}
		case a.leaseOver(now):
			return result{err: cmp.Or(r.err, a.lastErr)}
		}
	}
	if err := a.req.spend(); err != nil {
		return result{err: err, final: true}
	}
	return a.put(ctx, now, interval)
}

// attemptLimit is how long the next request may take.
func (a *acquisition) attemptLimit() time.Duration {
	left := a.req.holderLease()
	if !a.req.Turn {
		left = a.leaseEnd() - a.clock.ElapsedMax()
	}
	return min(attemptMax, left)
}

// learnTime probes the table's time. The first answer on a new connection may
// take so long that it bounds the time too loosely; then what is left of the
// attempt's time is used for a second probe.
func (a *acquisition) learnTime(ctx context.Context) (r result) {
	end := a.clock.ElapsedMax() + a.attemptLimit()
	for range 2 {
		r = a.probe(ctx, end-a.clock.ElapsedMax())
		if r.final {
			return r
		}
		if err := context.Cause(ctx); err != nil {
			return result{err: err, final: true}
		}
		now := a.clock.Read()
		if i := a.time.At(now); r.err != nil || i.Epoch == 0 || i.Known() || now.ElapsedMax >= end {
			break
		}
	}
	return r
}

// probe sends a delete that changes nothing, because no row has its owner. The
// answer tells the table's time.
func (a *acquisition) probe(ctx context.Context, limit time.Duration) result {
	a.backoff.blocker = nil
	answer := a.delete(ctx, a.req.Key, newOwner(), limit)
	return classify(a.req.Key, answer.Attempt)
}

// put sends one put and acts on its answer.
func (a *acquisition) put(ctx context.Context, now clock.Reading, interval Interval) result {
	p := a.newPut(now)
	if len(a.inDoubt) == 0 {
		a.epoch = interval.Epoch
	}
	rowNow := floorUnixMilli(interval.Earliest)

	bounded, cancel := a.timeout(ctx, a.attemptLimit())
	answer := a.table.PutLock(bounded, p.row, rowNow)
	cancel()
	a.time.Observe(answer.Attempt)
	a.events.attempted(a.req.Key, answer.Outcome)

	a.backoff.blocker = nil
	switch answer.Outcome {
	case outcome.Applied:
		return a.accept(ctx, p)
	case outcome.Refused:
		if old := answer.Old; old != nil && old.Owner == a.owner {
			a.events.ambiguityResolved(a.req.Key)
			return a.accept(ctx, a.storedPut(*old, p))
		}
		a.refused = true
		a.backoff.refused(answer.Old, rowNow)
		return result{err: ErrHeld}
	case outcome.Unknown:
		a.inDoubt = append(a.inDoubt, p)
	}
	return classify(a.req.Key, answer.Attempt)
}

// newPut makes the put that is sent at now.
func (a *acquisition) newPut(now clock.Reading) sentPut {
	from := a.started
	if a.req.Turn {
		from = now
	}
	start := ceilUnixMilli(a.time.At(from).Latest)
	return sentPut{leaseFrom: from.ElapsedMax, row: Row{
		Key:   a.req.Key,
		Owner: a.owner,
		Start: start,
		Until: start + rowLifetime(a.req.Lease, a.guard),
		By:    a.req.By,
	}}
}

// storedPut finds the put that stored row. If more than one wrote the same row,
// the one that was sent first counts.
func (a *acquisition) storedPut(row Row, last sentPut) sentPut {
	for _, p := range append(a.inDoubt, last) {
		if p.row.Start == row.Start && p.row.Until == row.Until {
			return sentPut{row: row, leaseFrom: p.leaseFrom}
		}
	}
	return sentPut{row: row, leaseFrom: a.started.ElapsedMax}
}

// accept makes a grant of a row that is ours. If the lease is over, or the
// table's time was wrong when the row was made, the row is deleted, and the
// next attempt needs another owner.
func (a *acquisition) accept(ctx context.Context, p sentPut) result {
	now := a.clock.Read()
	end := p.leaseFrom + a.req.holderLease()
	r := result{err: context.Cause(ctx), final: true}
	switch {
	case r.err != nil:
	case a.time.At(now).Epoch != a.epoch:
		r = result{err: errContradicted(a.req.Key)}
	case now.ElapsedMax >= end:
		r = result{err: ErrHeld}
	default:
		return result{grant: &grant{row: p.row, end: end}}
	}
	a.release(ctx, a.req.Key, a.owner, a.req.HostEnd)
	a.renewOwner()
	return r
}
