// Package dbtest is the contract of the engines of native.db, which all of them
// pass, and the parts that tests of native.db are made of: a clock that can be
// advanced, a run scope that counts, and a store that injects faults.
package dbtest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Engine is what an engine implements.
type Engine interface {
	db.Store
	lock.Table
	lock.Lister
}

// Run tests an engine against the contract. open returns an empty engine, and
// closes it by t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, clk *clock.Dual) Engine) {
	for _, part := range []struct {
		name  string
		tests []contract
	}{
		{"values", values},
		{"conditions", conditions},
		{"counters", counters},
		{"expiry", expiry},
		{"lists", lists},
		{"transactions", transactions},
		{"tenants", tenants},
		{"locks", locks},
	} {
		t.Run(part.name, func(t *testing.T) {
			for _, test := range part.tests {
				t.Run(test.name, func(t *testing.T) {
					clk := NewClock()
					engine := open(t, clock.NewDual(clk))
					test.run(NewFixture(t, engine, clk), engine)
				})
			}
		})
	}
}

// contract is one test that all engines pass.
type contract struct {
	name string
	run  func(*Fixture, Engine)
}

// Clock is the machine's clock, which a test can advance.
type Clock struct {
	clock.Clock
	stopped *clock.Instant // shown in place of the machine's time, nil if that is shown

	mu    sync.Mutex
	ahead time.Duration // guarded by mu
}

// NewClock returns a clock that shows the machine's time.
func NewClock() *Clock { return &Clock{Clock: clock.System()} }

// NewStoppedClock returns a clock that shows wall, and moves only by Advance.
// Sleep takes real time all the same.
func NewStoppedClock(wall time.Time) *Clock {
	return &Clock{Clock: clock.System(), stopped: &clock.Instant{Wall: wall}}
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Now implements [clock.Clock].
func (c *Clock) Now() clock.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	if c.stopped != nil {
		now = *c.stopped
	}
	return clock.Instant{Wall: now.Wall.Add(c.ahead), Mono: now.Mono + c.ahead}
}

// RunScope is a [db.RunScope] that counts what is spent and in doubt.
type RunScope struct {
	Left    int64         // data operations left
	Spent   int64         // and spent
	Time    time.Duration // what remains of the run's time; 0 means no end
	InDoubt int           // writes that are not resolved
}

// Spend implements [db.RunScope].
func (s *RunScope) Spend(n int64) error {
	if n > s.Left {
		return &outcome.Error{Code: db.CodeBudget, Message: "no data operations left"}
	}
	s.Left -= n
	s.Spent += n
	return nil
}

// Remaining implements [db.RunScope].
func (s *RunScope) Remaining() (time.Duration, bool) { return s.Time, s.Time > 0 }

// Write implements [db.RunScope].
func (s *RunScope) Write() (resolved func()) {
	s.InDoubt++
	return sync.OnceFunc(func() { s.InDoubt-- })
}

// Fixture is a test with a partition to work on, and a scope to do it in.
type Fixture struct {
	*testing.T
	DB    *db.DB
	Users *db.Partition
	Clock *Clock
	Scope *RunScope
}

// NewFixture opens the partition "users" of the tenant "acme" in store.
func NewFixture(t *testing.T, store db.Store, clk *Clock) *Fixture {
	f := &Fixture{T: t, DB: db.New(store, clock.NewDual(clk), nil), Clock: clk, Scope: &RunScope{Left: 1 << 40}}
	f.Users = f.Partition("acme", "users")
	return f
}

// Partition opens a partition.
func (f *Fixture) Partition(tenantID, name string) *db.Partition {
	f.Helper()
	p, err := f.DB.Open(mustTenant(f.T, tenantID), name)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// Put stores value under key and returns the revision.
func (f *Fixture) Put(key string, value any) string {
	f.Helper()
	return f.PutWith(key, value, db.PutOptions{})
}

// PutWith is Put with options, whose condition must hold.
func (f *Fixture) PutWith(key string, value any, o db.PutOptions) string {
	f.Helper()
	rev, current, err := f.Users.Put(f.Context(), f.Scope, key, value, o)
	if err != nil || rev == "" {
		f.Fatalf("put %s = %q, %v, %v; want a revision", key, rev, current, err)
	}
	return rev
}

// Get reads the row of key, nil if there is none.
func (f *Fixture) Get(key string) *db.Row {
	f.Helper()
	row, err := f.Users.Get(f.Context(), f.Scope, key, false)
	if err != nil {
		f.Fatalf("get %s: %v", key, err)
	}
	return row
}

// WantValue requires key to have the value, nil for none.
func (f *Fixture) WantValue(key string, want any) {
	f.Helper()
	var got any
	if row := f.Get(key); row != nil {
		got = row.Value
	}
	if !reflect.DeepEqual(got, want) {
		f.Errorf("value of %q is %#v, want %#v", key, got, want)
	}
}

// WantCode requires err to have the code, and returns it.
func (f *Fixture) WantCode(err error, code string) *outcome.Error {
	f.Helper()
	var e *outcome.Error
	if !errors.As(err, &e) || e.Code != code {
		f.Fatalf("error is %v, want %s", err, code)
	}
	return e
}

// Context is the context of the test.
func (f *Fixture) Context() context.Context { return f.T.Context() }
