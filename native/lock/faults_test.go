package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// requestFaults is what can happen to one request. taken lets another holder
// acquire the lock right before it arrives.
var requestFaults = []struct {
	name  string
	fault locktest.Fault
	taken bool
}{
	{name: "ok"},
	{name: "refused", taken: true},
	{"throttled", locktest.Fault{Kind: locktest.Throttled}, false},
	{"500, not stored", locktest.Fault{Kind: locktest.Lost}, false},
	{"500, stored", locktest.Fault{Kind: locktest.AnswerLost}, false},
	{"timeout, not stored", locktest.Fault{Kind: locktest.Lost, After: time.Hour}, false},
	{"timeout, stored", locktest.Fault{Kind: locktest.AnswerLost, After: time.Hour}, false},
	{"late", locktest.Fault{Kind: locktest.Late, After: 700 * time.Millisecond}, false},
	{"doubled", locktest.Fault{Kind: locktest.Duplicated, After: 700 * time.Millisecond}, false},
}

// TestEveryFaultOfTheFirstFourRequests tries all combinations of what can
// happen to the first four requests of a call that acquires, holds and releases.
func TestEveryFaultOfTheFirstFourRequests(t *testing.T) {
	n := len(requestFaults)
	acquired := 0
	for first := range n * n {
		synctest.Test(t, func(t *testing.T) {
			for rest := range n * n {
				c := combination{t: t, faults: [4]int{first / n, first % n, rest / n, rest % n}}
				c.play()
				acquired += c.ran
			}
		})
	}
	if all := n * n * n * n; acquired < all/2 {
		t.Errorf("the lock was acquired in %d of %d combinations, want most", acquired, all)
	}
}

// combination is one call whose first requests have given faults.
type combination struct {
	t       *testing.T
	faults  [4]int
	service *locktest.Service
	sent    int
	spent   int
	ran     int
}

const (
	callLease  = 3 * time.Second
	otherLease = 400 * time.Millisecond // of the holder that comes between
)

func (c *combination) play() {
	c.service = locktest.NewService(nil)
	p := start(c.t, c.service, 0)
	p.table.Fault = c.nextFault
	r := request(lease(callLease), wait(2*time.Second))
	r.Spend = func() error { c.spent++; return nil }
	ctx, cancel := context.WithTimeoutCause(c.t.Context(), 20*time.Second, errors.New("run over"))
	defer cancel()

	started := time.Now()
	l, err := p.locks.Acquire(ctx, r)
	if l != nil {
		c.hold(p, l)
		l.Release(ctx)
	}
	if took := time.Since(started); took > callLease+2*time.Second {
		c.errorf("the call took %v", took)
	}
	if known, ok := errors.AsType[*outcome.Error](err); err != nil && !errors.Is(err, lock.ErrHeld) && (!ok || known.Code == "") {
		c.errorf("got the error %v, want ErrHeld or one with a code", err)
	}
	if puts := len(c.service.Requests("put")); puts != c.spent {
		c.errorf("%d puts were sent and %d paid for", puts, c.spent)
	}
	c.checkQuiet()
}

// nextFault decides on the next request.
func (c *combination) nextFault(r locktest.Request) locktest.Fault {
	if c.sent >= len(c.faults) {
		return locktest.Fault{}
	}
	f := requestFaults[c.faults[c.sent]]
	c.sent++
	if f.taken && r.Op == "put" && len(c.service.Rows()) == 0 {
		now := lock.UnixMilli(time.Now().UnixMilli())
		c.service.Store(lock.Row{Key: r.Key, Owner: "other", Start: now, Until: now + lock.UnixMilli(otherLease/time.Millisecond)})
	}
	return f.fault
}

// hold works for a part of the lease. As long as it does, the row is ours: all
// others are refused.
func (c *combination) hold(p *process, l *lock.Lease) {
	c.ran++
	if p.clock.ElapsedMax() >= l.End {
		c.errorf("acquired with nothing left")
	}
	for range 4 {
		rows := c.service.Rows()
		if len(rows) != 1 || rows[0].Owner != l.Row.Owner {
			c.errorf("held by us, and the rows are %+v", rows)
		}
		time.Sleep(min(100*time.Millisecond, max(l.End-p.clock.ElapsedMax(), 0)))
	}
}

// checkQuiet requires that nothing is left once all has landed and run out.
func (c *combination) checkQuiet() {
	time.Sleep(callLease + lock.DefaultGuard + 4*time.Second)
	now := lock.UnixMilli(time.Now().UnixMilli())
	for _, row := range c.service.Rows() {
		if row.Until > now {
			c.errorf("the row %+v is left", row)
		}
	}
}

func (c *combination) errorf(format string, args ...any) {
	c.t.Helper()
	names := ""
	for _, f := range c.faults {
		names += requestFaults[f].name + "; "
	}
	c.t.Errorf("%s%s", names, fmt.Sprintf(format, args...))
}
