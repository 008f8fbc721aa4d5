package lock

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const never = time.Duration(math.MaxInt64)

var queueKey = Key{Tenant: "acme", Name: "q"}

func newTestQueue() *queue { return newQueue(clock.NewDual(clock.System())) }

func TestQueuePassesOnTheSlotOfACancelledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		first, _ := q.enter(t.Context(), queueKey, never, false)
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan *slot, 1)
		go func() {
			s, _ := q.enter(ctx, queueKey, never, false)
			second <- s
		}()
		synctest.Wait()
		third := make(chan *slot, 1)
		go func() {
			s, _ := q.enter(t.Context(), queueKey, never, false)
			third <- s
		}()
		synctest.Wait()

		cancel()
		q.leave(first) // before the second waiter has run: it is granted too
		if s := <-second; s != nil {
			t.Fatal("a cancelled waiter entered")
		}
		s := <-third
		if s == nil {
			t.Fatal("the next waiter was not served")
		}
		q.leave(s)
		checkEmpty(t, q)
	})
}

func TestQueuePassesOnASlotGrantedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		s, _ := q.enter(t.Context(), queueKey, never, false)
		end := q.clock.ElapsedMax() + time.Second
		w := &waiter{granted: make(chan struct{})}
		w.element = s.waiters.PushBack(w)
		q.leave(s)
		time.Sleep(2 * time.Second)
		if late := q.wait(t.Context(), w, end); !late {
			t.Error("a grant was taken after the end of the wait")
		}
		q.abandon(s, w)
		checkEmpty(t, q)
	})
}

func checkEmpty(t *testing.T, q *queue) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.slots) != 0 {
		t.Errorf("got %d slots, want none", len(q.slots))
	}
}

// Slots are released and waiters cancelled at the same time, over and over:
// never two in one slot, no caller stuck, nothing left.
func TestQueueSurvivesConcurrentReleasesAndCancels(t *testing.T) {
	const callers, rounds = 8, 100_000 / 8
	q := newTestQueue()
	var inside, entered, cancelled int // guarded by the slot, and by mu
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range callers {
		rnd := rand.New(rand.NewPCG(uint64(i), 2))
		wg.Go(func() {
			for range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(2) == 0 {
					wg.Go(cancel)
				}
				s, err := q.enter(ctx, queueKey, never, false)
				cancel()
				if s == nil {
					mu.Lock()
					cancelled++
					mu.Unlock()
					if err == nil {
						t.Error("not entered without a reason")
					}
					continue
				}
				if inside++; inside != 1 {
					t.Errorf("got %d in one slot", inside)
				}
				entered++
				if rnd.IntN(4) == 0 {
					runtime.Gosched()
				}
				inside--
				q.leave(s)
			}
		})
	}
	wg.Wait()
	checkEmpty(t, q)
	if entered+cancelled != callers*rounds || entered < callers*rounds/2 || cancelled == 0 {
		t.Errorf("got %d entered and %d cancelled of %d", entered, cancelled, callers*rounds)
	}
}

func TestQueueFreesTheMemoryOfUnusedNames(t *testing.T) {
	q := newTestQueue()
	before := heap()
	const n = 300_000
	slots := make([]*slot, n)
	for i := range slots {
		slots[i], _ = q.enter(t.Context(), Key{Tenant: "acme", Name: fmt.Sprint(i)}, never, false)
	}
	for i, s := range slots {
		q.leave(s)
		slots[i] = nil
	}
	slots = nil
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("got %d bytes after %d names, want about none", grown, n)
	}
	runtime.KeepAlive(q)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestRowLifetimeIncludesDriftAndGuard(t *testing.T) {
	for _, test := range []struct {
		lease, guard time.Duration
		want         UnixMilli
	}{
		{time.Millisecond, time.Second, 1002}, // 1 + 0.0005 + 1000, rounded up
		{30 * time.Second, 2 * time.Second, 32015},
		{1500700 * time.Microsecond, 2 * time.Second, 3502}, // 1501 + 0.7505 + 2000
		{time.Hour, 2 * time.Second, 3603800},
	} {
		if got := rowLifetime(test.lease, test.guard); got != test.want {
			t.Errorf("lease %v, guard %v: got %d ms, want %d", test.lease, test.guard, got, test.want)
		}
	}
}
