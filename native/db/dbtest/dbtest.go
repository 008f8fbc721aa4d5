// Package dbtest is what every engine of native.db has to pass, and what the
// tests of native.db are made of: a clock to be set, an account that counts,
// and a store whose answers get lost.
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

// Engine is what engines implement.
type Engine interface {
	db.Store
	lock.Table
	lock.Lister
}

// Run runs the contract suite. open returns an empty engine and closes it by
// t.Cleanup.
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

// Clock is this machine's clock, put forward by hand.
type Clock struct {
	clock.Clock
	stopped *clock.Instant // what is shown instead of the machine's time

	mu    sync.Mutex
	ahead time.Duration // guarded by mu
}

// NewClock returns a clock that shows the machine's time.
func NewClock() *Clock { return &Clock{Clock: clock.System()} }

// NewStoppedClock returns a clock that stands at wall, and moves only when it is
// put forward. Sleeping takes time all the same.
func NewStoppedClock(wall time.Time) *Clock {
	return &Clock{Clock: clock.System(), stopped: &clock.Instant{Wall: wall}}
}

// Advance puts the clock forward.
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

// RunScope is a [db.RunScope] that counts.
type RunScope struct {
	Left  int64         // data operations left
	Spent int64         // and spent
	Time  time.Duration // what remains of the run's time; 0 means no end
	InDoubt  int           // writes that are not settled
}

// Spend implements [db.RunScope].
func (a *RunScope) Spend(n int64) error {
	if n > a.Left {
		return &outcome.Error{Code: db.CodeBudget, Message: "no data operations left"}
	}
	a.Left -= n
	a.Spent += n
	return nil
}

// Remaining implements [db.RunScope].
func (a *RunScope) Remaining() (time.Duration, bool) { return a.Time, a.Time > 0 }

// Write implements [db.RunScope].
func (a *RunScope) Write() (settled func()) {
	a.InDoubt++
	return sync.OnceFunc(func() { a.InDoubt-- })
}

// Fixture is a test with a partition to work on.
type Fixture struct {
	*testing.T
	DB    *db.DB
	Users *db.Partition
	Clock *Clock
	Scope *RunScope
}

// NewFixture opens partition "users" of tenant "acme" in store.
func NewFixture(t *testing.T, store db.Store, clk *Clock) *Fixture {
	b := &Fixture{T: t, DB: db.New(store, clock.NewDual(clk), nil), Clock: clk, Scope: &RunScope{Left: 1 << 40}}
	b.Users = b.Partition("acme", "users")
	return b
}

// Partition opens a partition.
func (b *Fixture) Partition(tenantID, name string) *db.Partition {
	b.Helper()
	p, err := b.DB.Open(mustTenant(b.T, tenantID), name)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// Put stores value and returns its revision.
func (b *Fixture) Put(key string, value any) string {
	b.Helper()
	return b.PutWith(key, value, db.PutOptions{})
}

// PutWith is Put with options; the condition is expected to hold.
func (b *Fixture) PutWith(key string, value any, o db.PutOptions) string {
	b.Helper()
	rev, current, err := b.Users.Put(b.Context(), b.Scope, key, value, o)
	if err != nil || rev == "" {
		b.Fatalf("put %s = %q, %v, %v; want a revision", key, rev, current, err)
	}
	return rev
}

// Get reads the row of key, nil if there is none.
func (b *Fixture) Get(key string) *db.Row {
	b.Helper()
	row, err := b.Users.Get(b.Context(), b.Scope, key, false)
	if err != nil {
		b.Fatalf("get %s: %v", key, err)
	}
	return row
}

// WantValue requires key to have the value, nil for none.
func (b *Fixture) WantValue(key string, want any) {
	b.Helper()
	var got any
	if row := b.Get(key); row != nil {
		got = row.Value
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("value of %q is %#v, want %#v", key, got, want)
	}
}

// WantCode requires err to be an error of that code, and returns it.
func (b *Fixture) WantCode(err error, code string) *outcome.Error {
	b.Helper()
	var e *outcome.Error
	if !errors.As(err, &e) || e.Code != code {
		b.Fatalf("error is %v, want %s", err, code)
	}
	return e
}

// Context is that of the test.
func (b *Fixture) Context() context.Context { return b.T.Context() }
