package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

// cluster is many processes with bad clocks that want one lock over a bad
// network.
type cluster struct {
	t       *testing.T
	seed    uint64
	service *locktest.Service
	holders atomic.Int32
	ran     atomic.Int32
	puts    atomic.Int32
}

// TestInvariantsUnderBadClocksAndNetworks checks, for many seeds, that
// never two hold the lock, that each call runs once at most and ends by its
// bound, that the budget is what was sent, and that nothing is left.
func TestInvariantsUnderBadClocksAndNetworks(t *testing.T) {
	var ran int32
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			c := &cluster{t: t, seed: seed, service: locktest.NewService(nil)}
			c.service.Latency = time.Duration(rand.New(rand.NewPCG(seed, 3)).IntN(200)) * time.Millisecond
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() { c.runProcess(rand.New(rand.NewPCG(seed, uint64(i)))) })
			}
			wg.Wait()
			c.checkQuiet()
			ran += c.ran.Load()
		})
	}
	if ran < 300 {
		t.Errorf("got %d holders over all seeds, want many", ran)
	}
}

// runProcess runs one process: three runs at a time, each with some calls.
func (c *cluster) runProcess(rnd *rand.Rand) {
	p := start(c.t, c.service, time.Duration(rnd.IntN(100_000)-50_000)*time.Millisecond)
	p.machine.SetDrift(rnd.Int64N(800) - 400)
	faults := rand.New(rand.NewPCG(rnd.Uint64(), 4))
	var mu sync.Mutex // guards faults
	p.table.Fault = func(locktest.Request) locktest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if faults.IntN(10) == 0 {
			p.machine.Step(time.Duration(faults.IntN(20_000)-10_000) * time.Millisecond)
		}
		if faults.IntN(3) > 0 {
			return locktest.Fault{}
		}
		kinds := []locktest.FaultKind{locktest.NoFault, locktest.AnswerLost, locktest.Lost, locktest.Late, locktest.Throttled, locktest.Unreachable}
		return locktest.Fault{Kind: kinds[faults.IntN(len(kinds))], After: time.Duration(faults.IntN(2500)) * time.Millisecond}
	}
	var wg sync.WaitGroup
	for range 3 {
		own := rand.New(rand.NewPCG(rnd.Uint64(), 5))
		wg.Go(func() {
			for range 3 {
				c.call(p, own)
			}
		})
	}
	wg.Wait()
}

// call is one call of with or turn.
func (c *cluster) call(p *process, rnd *rand.Rand) {
	r := request(
		lease(time.Duration(100+rnd.IntN(5000))*time.Millisecond),
		wait(time.Duration(rnd.IntN(8000))*time.Millisecond),
		func(r *lock.Request) { r.Turn = rnd.IntN(3) == 0 },
		func(r *lock.Request) {
			r.Spend = func() error { c.puts.Add(1); return nil }
		})
	ctx, cancel := context.WithTimeoutCause(c.t.Context(), 20*time.Second, errors.New("run over"))
	defer cancel()
	started := time.Now()
	l, _ := p.locks.Acquire(ctx, r)
	bound := r.Lease + 2*time.Second
	if r.Turn {
		bound = 20*time.Second + 2*time.Second
	}
	if d := time.Since(started); d > bound+time.Second {
		c.t.Errorf("seed %d: a call took %v, want at most %v", c.seed, d, bound)
	}
	if l == nil {
		return
	}
	c.hold(p, l, rnd)
	switch rnd.IntN(6) {
	case 0:
		l.LetExpire()
	default:
		l.Release(ctx)
	}
}

// hold works for a while, and stops at the end of the lease as a run would.
func (c *cluster) hold(p *process, l *lock.Lease, rnd *rand.Rand) {
	c.ran.Add(1)
	if n := c.holders.Add(1); n != 1 {
		c.t.Errorf("seed %d: %d hold the lock at once", c.seed, n)
	}
	if p.clock.ElapsedMax() >= l.End {
		c.t.Errorf("seed %d: acquired with nothing left", c.seed)
	}
	work := p.clock.ElapsedMax() + time.Duration(rnd.IntN(6000))*time.Millisecond
	for p.clock.ElapsedMax() < min(work, l.End) {
		time.Sleep(10 * time.Millisecond)
	}
	c.holders.Add(-1)
}

func (c *cluster) checkQuiet() {
	if sent := len(c.service.Requests("put")); sent > int(c.puts.Load()) {
		c.t.Errorf("seed %d: got %d puts, want the %d that were paid for", c.seed, sent, c.puts.Load())
	}
	time.Sleep(15 * time.Second) // late requests land, leases and guards end
	now := lock.UnixMilli(time.Now().UnixMilli())
	for _, row := range c.service.Rows() {
		if row.Until > now {
			c.t.Errorf("seed %d: got row %+v, %d ms after everything", c.seed, row, row.Until-now)
		}
	}
	fresh := start(c.t, c.service, 0)
	fresh.acquire(c.t, wait(0)).Release(c.t.Context())
}
