package sim

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// TestCheckerPassesAMutexAndFailsNoLock checks the checker.
func TestCheckerPassesAMutexAndFailsNoLock(t *testing.T) {
	for seed := range uint64(100) {
		m := mutexes{}
		if sim := runSeed(t, seed, mutant{acquire: m.acquire}, "", nil); len(sim.violations) > 0 {
			t.Fatalf("seed %d with a real mutex: got %q, want no violation", seed, sim.violations)
		}
	}
	checkCaught(t, mutant{acquire: noLock}, exclusion)
}

// TestMutantsAreCaught breaks what is around the protocol.
func TestMutantsAreCaught(t *testing.T) {
	for name, m := range map[string]mutant{
		"no guard": {table: func(p *process, real lock.Table) lock.Table {
			return tamperingTable{real, func(row *lock.Row, _ *lock.UnixMilli) {
				row.Until -= lock.UnixMilli(p.sim.guard / time.Millisecond)
			}}
		}},
		"no owner condition on delete": {table: func(p *process, real lock.Table) lock.Table {
			return ownerBlindTable{real, p}
		}},
		"release before the function has ended": {releasesEarly: true},
		"delete although a write is in doubt":   {releasesInDoubt: true},
		"the machine's wall clock for :now": {table: func(p *process, real lock.Table) lock.Table {
			return tamperingTable{real, func(_ *lock.Row, now *lock.UnixMilli) { *now = p.wall() }}
		}},
		"the machine's wall clock for until": {table: func(p *process, real lock.Table) lock.Table {
			return tamperingTable{real, func(row *lock.Row, _ *lock.UnixMilli) {
				row.Until += p.wall() - row.Start
				row.Start = p.wall()
			}}
		}},
		":now by ElapsedMax":  {time: func(real lock.TableTime) lock.TableTime { return newOneBound(real, true) }},
		"until by ElapsedMin": {time: func(real lock.TableTime) lock.TableTime { return newOneBound(real, false) }},
	} {
		t.Run(name, func(t *testing.T) { checkCaught(t, m, exclusion) })
	}
}

// checkCaught requires some seed of the normal test to violate the property.
func checkCaught(t *testing.T, m mutant, violates property) {
	t.Helper()
	for seed := range *seeds {
		if sim := runSeed(t, seed, m, violates, nil); len(sim.violations) > 0 {
			t.Logf("caught by seed %d: %s", seed, sim.violations[0])
			return
		}
	}
	t.Errorf("%d seeds: got no violation of %q, want one", *seeds, violates)
}

func (p *process) wall() lock.UnixMilli { return lock.UnixMilli(p.Now().Wall.UnixMilli()) }

// tamperingTable changes every put before it is sent.
type tamperingTable struct {
	lock.Table
	change func(*lock.Row, *lock.UnixMilli)
}

func (c tamperingTable) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	c.change(&row, &now)
	return c.Table.PutLock(ctx, row, now)
}

// ownerBlindTable deletes rows of any owner.
type ownerBlindTable struct {
	lock.Table
	process *process
}

func (c ownerBlindTable) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	if row, there := c.process.sim.service.rows[key]; there {
		owner = row.Owner
	}
	return c.Table.DeleteLock(ctx, key, owner)
}

// oneBound carries one side of the table's time on by the wrong bound of elapsed
// time.
type oneBound struct {
	real, wrong lock.TableTime
	max         bool
}

func newOneBound(real lock.TableTime, fast bool) lock.TableTime {
	return oneBound{real, lock.NewTableClock(0, nil), fast}
}

func (o oneBound) swap(r clock.Reading) clock.Reading {
	if o.max {
		r.ElapsedMin = r.ElapsedMax
	} else {
		r.ElapsedMax = r.ElapsedMin
	}
	return r
}

func (o oneBound) Observe(a outcome.Attempt) {
	o.real.Observe(a)
	a.Sent, a.Received = o.swap(a.Sent), o.swap(a.Received)
	o.wrong.Observe(a)
}

func (o oneBound) At(r clock.Reading) lock.Interval {
	i, wrong := o.real.At(r), o.wrong.At(o.swap(r))
	if o.max {
		i.Earliest = wrong.Earliest
	} else {
		i.Latest = wrong.Latest
	}
	return i
}

// noLock grants every request.
func noLock(p *process, _ context.Context, r lock.Request) (*heldLock, error) {
	nothing := func() {}
	return &heldLock{p.clock.ElapsedMax() + r.Lease, nothing, nothing}, nil
}

// mutexes are real mutexes, as if all processes were one.
type mutexes map[lock.Key]*mutex

type mutex struct {
	holder *process
	free   time.Duration // true time from which on a lock that was kept is free
}

func (m mutexes) acquire(p *process, ctx context.Context, r lock.Request) (*heldLock, error) {
	sim := p.sim
	mu := m[r.Key]
	if mu == nil {
		mu = &mutex{}
		m[r.Key] = mu
	}
	started := sim.current.startedElapsed
	for mu.busy(sim) {
		if err := p.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
		if !r.Turn && p.clock.ElapsedMax() >= started+min(r.Wait, r.Lease) {
			return nil, lock.ErrHeld
		}
	}
	if !r.Turn && p.clock.ElapsedMax() >= started+r.Lease {
		return nil, lock.ErrHeld
	}
	mu.holder = p
	if r.Turn {
		started = p.clock.ElapsedMax()
	}
	return &heldLock{
		end:       started + r.Lease,
		release:   func() { mu.holder = nil },
		letExpire: func() { mu.holder, mu.free = nil, sim.now+sim.guard },
	}, nil
}

// busy reports whether the mutex is held, or its holder has crashed and a write
// may still be on its way.
func (m *mutex) busy(sim *simulation) bool {
	if m.holder != nil && m.holder.dead {
		m.holder, m.free = nil, sim.now+sim.guard
	}
	return m.holder != nil || sim.now < m.free
}
