package sim

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// TestARealMutexPassesAndNoLockFails looks whether the judges can tell.
func TestARealMutexPassesAndNoLockFails(t *testing.T) {
	for seed := range uint64(100) {
		m := mutexes{}
		if w := runSeed(t, seed, mutant{acquire: m.acquire}, "", nil); len(w.found) > 0 {
			t.Fatalf("seed %d with a real mutex: got %q, want nothing wrong", seed, w.found)
		}
	}
	checkCaught(t, mutant{acquire: noLock}, excludes)
}

// TestMutantsAreCaught breaks what stands around the protocol.
func TestMutantsAreCaught(t *testing.T) {
	for name, m := range map[string]mutant{
		"no guard": {table: func(p *process, real lock.Table) lock.Table {
			return changed{real, func(row *lock.Row, _ *lock.UnixMilli) {
				row.Until -= lock.UnixMilli(p.world.guard / time.Millisecond)
			}}
		}},
		"no owner condition on delete": {table: func(p *process, real lock.Table) lock.Table {
			return careless{real, p}
		}},
		"release before unwinding":           {early: true},
		"delete although a write is unknown": {forgets: true},
		"the machine's wall clock for :now": {table: func(p *process, real lock.Table) lock.Table {
			return changed{real, func(_ *lock.Row, now *lock.UnixMilli) { *now = p.wall() }}
		}},
		"the machine's wall clock for until": {table: func(p *process, real lock.Table) lock.Table {
			return changed{real, func(row *lock.Row, _ *lock.UnixMilli) {
				row.Until += p.wall() - row.Start
				row.Start = p.wall()
			}}
		}},
		":now on the fast hand":  {time: func(real lock.TableTime) lock.TableTime { return newOneHand(real, true) }},
		"until on the slow hand": {time: func(real lock.TableTime) lock.TableTime { return newOneHand(real, false) }},
	} {
		t.Run(name, func(t *testing.T) { checkCaught(t, m, excludes) })
	}
}

// checkCaught requires some seed of the normal test to find something wrong.
func checkCaught(t *testing.T, m mutant, breaks promise) {
	t.Helper()
	for seed := range *seeds {
		if w := runSeed(t, seed, m, breaks, nil); len(w.found) > 0 {
			t.Logf("caught by seed %d: %s", seed, w.found[0])
			return
		}
	}
	t.Errorf("%d seeds: got no breach of %q, want one", *seeds, breaks)
}

func (p *process) wall() lock.UnixMilli { return lock.UnixMilli(p.Now().Wall.UnixMilli()) }

// changed changes every put on its way.
type changed struct {
	lock.Table
	change func(*lock.Row, *lock.UnixMilli)
}

func (c changed) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	c.change(&row, &now)
	return c.Table.PutLock(ctx, row, now)
}

// careless deletes whoever's row is there.
type careless struct {
	lock.Table
	process *process
}

func (c careless) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	if row, there := c.process.world.service.rows[key]; there {
		owner = row.Owner
	}
	return c.Table.DeleteLock(ctx, key, owner)
}

// oneHand reads one side of the table's time on the wrong hand.
type oneHand struct {
	real, wrong lock.TableTime
	fast        bool
}

func newOneHand(real lock.TableTime, fast bool) lock.TableTime {
	return oneHand{real, lock.NewTableClock(0, nil), fast}
}

func (o oneHand) turn(r clock.Reading) clock.Reading {
	if o.fast {
		r.ElapsedMin = r.ElapsedMax
	} else {
		r.ElapsedMax = r.ElapsedMin
	}
	return r
}

func (o oneHand) Observe(a outcome.Attempt) {
	o.real.Observe(a)
	a.Sent, a.Received = o.turn(a.Sent), o.turn(a.Received)
	o.wrong.Observe(a)
}

func (o oneHand) At(r clock.Reading) lock.Interval {
	w, wrong := o.real.At(r), o.wrong.At(o.turn(r))
	if o.fast {
		w.Earliest = wrong.Earliest
	} else {
		w.Latest = wrong.Latest
	}
	return w
}

// noLock gives every caller what it asks for.
func noLock(p *process, _ context.Context, r lock.Request) (*held, error) {
	nothing := func() {}
	return &held{p.clock.ElapsedMax() + r.Lease, nothing, nothing}, nil
}

// mutexes are real ones, as if all processes were one.
type mutexes map[lock.Key]*mutex

type mutex struct {
	holder *process
	free   time.Duration // true time from which on a lock that was kept is free
}

func (m mutexes) acquire(p *process, ctx context.Context, r lock.Request) (*held, error) {
	w := p.world
	mu := m[r.Key]
	if mu == nil {
		mu = &mutex{}
		m[r.Key] = mu
	}
	asked := w.current.begun
	for mu.busy(w) {
		if err := p.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
		if !r.Turn && p.clock.ElapsedMax() >= asked+min(r.Wait, r.Lease) {
			return nil, lock.ErrHeld
		}
	}
	if !r.Turn && p.clock.ElapsedMax() >= asked+r.Lease {
		return nil, lock.ErrHeld
	}
	mu.holder = p
	if r.Turn {
		asked = p.clock.ElapsedMax()
	}
	return &held{
		end:     asked + r.Lease,
		release: func() { mu.holder = nil },
		keep:    func() { mu.holder, mu.free = nil, w.now+w.guard },
	}, nil
}

// busy says whether somebody holds the mutex, or has died with it so that a
// write may still be on its way.
func (m *mutex) busy(w *world) bool {
	if m.holder != nil && m.holder.dead {
		m.holder, m.free = nil, w.now+w.guard
	}
	return m.holder != nil || w.now < m.free
}
