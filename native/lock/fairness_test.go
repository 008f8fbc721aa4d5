package lock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
)

func TestQueueIsNotPassedByACallThatDoesNotWait(t *testing.T) {
	for _, scope := range []lock.Scope{lock.DB, lock.Local} {
		t.Run(scope.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				mine := func(r *lock.Request) { r.Scope = scope }
				l := p.acquire(t, mine)
				before := len(s.Requests())
				if d := took(func() { p.mustBeHeld(t, mine) }); d != 0 || len(s.Requests()) != before {
					t.Errorf("took %v and %d requests, want nothing", d, len(s.Requests())-before)
				}
				l.Release(t.Context())
			})
		})
	}
}

func TestQueueServesCallersInOrder(t *testing.T) {
	for _, scope := range []lock.Scope{lock.DB, lock.Local} {
		t.Run(scope.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *locktest.Service) {
				p := start(t, s, 0)
				mine := func(r *lock.Request) { r.Scope = scope }
				first := p.acquire(t, mine)
				var wg sync.WaitGroup
				var mu sync.Mutex // guards got
				var got []int
				for i := range 50 {
					wg.Go(func() {
						l := p.acquire(t, mine, turn)
						mu.Lock()
						got = append(got, i)
						mu.Unlock()
						l.Release(t.Context())
					})
					time.Sleep(time.Millisecond)
				}
				first.Release(t.Context())
				wg.Wait()
				if !slices.IsSorted(got) || len(got) != 50 {
					t.Errorf("got order %v, want 0 to 49", got)
				}
				if scope == lock.Local && len(s.Requests()) > 0 {
					t.Errorf("got %d requests, want none", len(s.Requests()))
				}
			})
		})
	}
}

func TestQueueLetsOneCallerSendRequests(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		holder := start(t, s, 0).acquire(t)
		p := start(t, s, 0)
		p.knowTime(t)
		counting := &counting{Table: p.table}
		p.locks = withTable(t, p, counting)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { p.mustBeHeld(t, wait(10*time.Second)) })
		}
		wg.Wait()
		if counting.most != 1 {
			t.Errorf("got %d requests at a time, want 1", counting.most)
		}
		holder.Release(t.Context())
	})
}

// counting is a table that counts the puts that are on the way at a time.
type counting struct {
	lock.Table
	mu        sync.Mutex // guards what follows
	now, most int
}

func (c *counting) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	c.add(1)
	defer c.add(-1)
	return c.Table.PutLock(ctx, row, now)
}

func (c *counting) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func TestCooldownFollowsTheAnsweredRelease(t *testing.T) {
	const answered = 510 * time.Millisecond
	for held, cooldown := range map[time.Duration]time.Duration{
		500 * time.Millisecond: 0,
		2 * time.Second:        (2*time.Second + answered) / 4,
		10 * time.Second:       time.Second,
	} {
		bubble(t, func(t *testing.T, s *locktest.Service) {
			p := start(t, s, 0)
			l := p.acquire(t)
			var wg sync.WaitGroup
			wg.Go(func() { p.acquire(t, turn).Release(t.Context()) })
			time.Sleep(held)
			p.table.Fault = faults("delete", locktest.Fault{After: 500 * time.Millisecond})
			before := time.Now()
			l.Release(t.Context())
			wg.Wait()
			puts := s.Requests("put")
			if waited := puts[len(puts)-1].At.Sub(before); waited != answered+cooldown {
				t.Errorf("held for %v: the next put went out %v after the delete, want %v", held, waited, answered+cooldown)
			}
		})
	}
}

func TestCooldownLetsOtherProcessesAcquire(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		s.Latency = time.Millisecond // so that the lock is rarely free by chance
		busy, other := start(t, s, 0), start(t, s, 0)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if l, _ := busy.locks.Acquire(ctx, request(turn)); l != nil {
						time.Sleep(50 * time.Millisecond)
						l.Release(ctx)
					}
				}
			})
		}
		// Kept for 1.4 s, one more holder, and a pause of the other of 0.3 s. Only
		// two of its attempts that came in the time of one holder let it miss a cooldown.
		const all, most = 100, 2 * time.Second
		late := 0
		for i := range all {
			time.Sleep(time.Duration(i%30) * 37 * time.Millisecond)
			if d := took(func() { other.acquire(t, turn).Release(t.Context()) }); d > most {
				t.Logf("the other process waited for %v", d)
				late++
			}
		}
		if late > all/10 {
			t.Errorf("%d of %d waits took more than %v", late, all, most)
		}
		stop()
		wg.Wait()
	})
}

func TestCooldownIsNotForALockThatAnotherProcessHeld(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		first := p.acquire(t)
		next := make(chan *lock.Lease)
		for range 2 {
			go func() { next <- p.acquire(t, turn) }()
		}
		time.Sleep(800 * time.Millisecond)
		s.Store(lock.Row{Key: theLock, Owner: "another", Until: lock.UnixMilli(time.Now().Add(300 * time.Millisecond).UnixMilli())})
		first.Release(t.Context())
		second := <-next
		time.Sleep(800 * time.Millisecond) // over 1.4 s since the first, but not in one go
		if d := took(func() { second.Release(t.Context()); <-next }); d > 100*time.Millisecond {
			t.Errorf("the next caller waited for %v, want no cooldown", d)
		}
	})
}

func TestCooldownDoesNotOutlastAWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Service) {
		p := start(t, s, 0)
		l := p.acquire(t)
		results := make(chan string, 2)
		time.Sleep(5500 * time.Millisecond)
		for i, d := range []time.Duration{time.Second, 5 * time.Second} {
			go func() {
				l, err := p.locks.Acquire(t.Context(), request(wait(d)))
				results <- fmt.Sprintf("%d %t %v", i, l != nil, err)
			}()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(480 * time.Millisecond)
		l.Release(t.Context())
		puts := len(s.Requests("put"))
		for _, want := range []string{"0 false the lock is held", "1 true <nil>"} {
			if got := <-results; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if n := len(s.Requests("put")) - puts; n != 1 {
			t.Errorf("got %d puts, want 1", n)
		}
	})
}
