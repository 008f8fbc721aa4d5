package lock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/lock/locktest"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// process is one process of a test, with its own clocks and its own
// connection to the table.
type process struct {
	machine *locktest.Machine
	clock   *clock.Dual
	table   *locktest.Table
	time    *lock.TableClock
	locks   *lock.Locks

	mu       sync.Mutex // guards what follows
	released []lock.ReleaseEvent
	warned   []string
	resolved int
}

// start starts a process whose wall clock is off by wall.
func start(t testing.TB, s *locktest.Service, wall time.Duration) *process {
	t.Helper()
	machine := locktest.NewMachine(wall)
	p := startWithClock(t, s, clock.NewDual(machine))
	p.machine = machine
	return p
}

// startWithClock starts a process whose clock exists already.
func startWithClock(t testing.TB, s *locktest.Service, clk *clock.Dual) *process {
	t.Helper()
	p := &process{clock: clk, time: lock.NewTableClock(0, nil), table: s.Connect(clk)}
	var err error
	p.locks, err = lock.New(p.clock, p.table, p.time, lock.Options{Events: lock.Events{
		Release:           func(r lock.ReleaseEvent) { p.note(func() { p.released = append(p.released, r) }) },
		AmbiguityResolved: func(lock.Key) { p.note(func() { p.resolved++ }) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// releases returns how each lease of the process was given up.
func (p *process) releases() []lock.ReleaseResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	var how []lock.ReleaseResult
	for _, r := range p.released {
		how = append(how, r.Result)
	}
	return how
}

var theLock = lock.Key{Tenant: "acme", Name: "import-42"}

// request is request with warnings noted.
func (p *process) request(change ...func(*lock.Request)) lock.Request {
	r := request(change...)
	r.Warn = func(text string) { p.note(func() { p.warned = append(p.warned, text) }) }
	return r
}

// request is a request of the lock for 30 s, without a wait, but for what change
// sets.
func request(change ...func(*lock.Request)) lock.Request {
	r := lock.Request{Key: theLock, Lease: 30 * time.Second}
	for _, f := range change {
		f(&r)
	}
	return r
}

func wait(d time.Duration) func(*lock.Request)  { return func(r *lock.Request) { r.Wait = d } }
func lease(d time.Duration) func(*lock.Request) { return func(r *lock.Request) { r.Lease = d } }
func turn(r *lock.Request)                      { r.Turn = true }
func local(r *lock.Request)                     { r.Scope = lock.Local }

// acquire requires the lock to be acquired.
func (p *process) acquire(t testing.TB, change ...func(*lock.Request)) *lock.Lease {
	t.Helper()
	l, err := p.locks.Acquire(t.Context(), p.request(change...))
	if err != nil {
		t.Fatalf("got error %v, want a lease", err)
	}
	return l
}

// mustBeHeld requires the lock not to be acquired because it is held.
func (p *process) mustBeHeld(t testing.TB, change ...func(*lock.Request)) {
	t.Helper()
	if l, err := p.locks.Acquire(t.Context(), p.request(change...)); l != nil || !errors.Is(err, lock.ErrHeld) {
		t.Fatalf("got lease %v and error %v, want none and ErrHeld", l, err)
	}
}

// mustFail requires an error of this code.
func (p *process) mustFail(t testing.TB, code string, change ...func(*lock.Request)) *outcome.Error {
	t.Helper()
	l, err := p.locks.Acquire(t.Context(), p.request(change...))
	known, ok := errors.AsType[*outcome.Error](err)
	if l != nil || !ok || known.Code != code {
		t.Fatalf("got lease %v and error %v, want an error with code %s", l, err, code)
	}
	return known
}

// faults gives the requests of op the given faults one after the other, and the
// others none.
func faults(op string, list ...locktest.Fault) func(locktest.Request) locktest.Fault {
	return func(r locktest.Request) (f locktest.Fault) {
		if r.Op == op && len(list) > 0 {
			f, list = list[0], list[1:]
		}
		return f
	}
}

// knowTime lets a process learn the table's time, so that the requests that
// follow are all about the lock.
func (p *process) knowTime(t testing.TB) {
	t.Helper()
	p.acquire(t, func(r *lock.Request) { r.Key.Name = "another" }).Release(t.Context())
}

// ops returns the ops of the requests about the lock.
func ops(s *locktest.Service) []string {
	var list []string
	for _, r := range s.Requests() {
		if r.Key == theLock {
			list = append(list, r.Op)
		}
	}
	return list
}

func checkOps(t testing.TB, s *locktest.Service, want ...string) {
	t.Helper()
	if got := ops(s); !slices.Equal(got, want) {
		t.Errorf("got requests %v, want %v", got, want)
	}
}

func checkNoRows(t testing.TB, s *locktest.Service) {
	t.Helper()
	if rows := s.Rows(); len(rows) > 0 {
		t.Errorf("got rows %+v, want none", rows)
	}
}

func checkReleased(t testing.TB, p *process, want ...lock.ReleaseResult) {
	t.Helper()
	if got := p.releases(); !slices.Equal(got, want) {
		t.Errorf("got leases given up as %v, want %v", got, want)
	}
}

// took returns how long f takes.
func took(f func()) time.Duration {
	from := time.Now()
	f()
	return time.Since(from)
}

func cancelAfter(t testing.TB, d time.Duration, cause error) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, cause)
	t.Cleanup(cancel)
	return ctx
}

// bubble runs test in fake time, against an empty table that takes 10 ms per
// request.
func bubble(t *testing.T, test func(t *testing.T, s *locktest.Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := locktest.NewService(nil)
		s.Latency = 10 * time.Millisecond
		test(t, s)
	})
}

// afterPut is a table that does something once a put has been answered.
type afterPut struct {
	lock.Table
	do func()
}

func (d afterPut) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	defer d.do()
	return d.Table.PutLock(ctx, row, now)
}

// withTable returns locks of the same process on another table.
func withTable(t *testing.T, p *process, table lock.Table) *lock.Locks {
	t.Helper()
	locks, err := lock.New(p.clock, table, p.time, lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}
