// Package lockmodule is native.lock: it runs a function while it holds a lock,
// under a lease that is enforced. Package lock has the guarantees and the
// protocol.
//
//	native.lock.with(name, opts?, fn) -> acquired, ...
//	native.lock.turn(name, opts?, fn) -> ...
package lockmodule

import (
	"errors"
	"math"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	defaultLease = 30 * time.Second // of lease_ms
	reserved     = "native:"        // the prefix of names that only the host uses
)

// Options configure native.lock.
type Options struct {
	// Process names this process in the rows, for operators. If it is "", the
	// rows don't have it.
	Process string
}

// New returns the module native.lock. The runs have to use the clock of locks.
func New(locks *lock.Locks, o Options) native.Module {
	m := &module{locks: locks, options: o}
	return native.Module{Name: "lock", Funcs: []native.Func{
		{Name: "with", Do: m.with, Args: 3},
		{Name: "turn", Do: m.turn, Args: 3},
	}}
}

type module struct {
	locks   *lock.Locks
	options Options
}

// with is native.lock.with(name, opts?, fn) -> acquired, ...
func (m *module) with(c *native.Call) error {
	req, fn, o := m.arguments(c, "scope", "lease_ms", "wait_ms")
	req.Wait = waitMillis(o)
	lease, err := m.locks.Acquire(c.Context(), req)
	if errors.Is(err, lock.ErrHeld) {
		return c.Return(lua.LFalse)
	}
	if err != nil {
		return err
	}
	return hold(c, lease, fn, lua.LTrue)
}

// turn is native.lock.turn(name, opts?, fn) -> ...
func (m *module) turn(c *native.Call) error {
	req, fn, o := m.arguments(c, "scope", "lease_ms", "poll_ms")
	req.Turn = true
	req.Poll = o.Millis("poll_ms", 0, time.Millisecond, lock.DefaultMaxLease)
	lease, err := m.locks.Acquire(c.Context(), req)
	if err != nil {
		return err
	}
	return hold(c, lease, fn)
}

// hold runs the function that is argument fn under the lease and gives the lock
// up. Only then it returns lead and the function's results, or raises its error.
func hold(c *native.Call, lease *lock.Lease, fn int, lead ...lua.LValue) error {
	result := c.Within(lease.End, fn, 0)
	if result.InDoubt {
		lease.LetExpire()
	} else {
		lease.Release(c.Context())
	}
	return c.Finish(result, lead...)
}

// arguments reads the name, the options that both functions have, and the
// position of the function.
func (m *module) arguments(c *native.Call, known ...string) (lock.Request, int, native.Options) {
	name := c.Text(1, "name", lock.NameMax)
	if strings.HasPrefix(name, reserved) {
		c.BadArg(1, "name: begins with %q, which is reserved", reserved)
	}
	var o native.Options
	fn := 2
	if c.Arg(2).Type() != lua.LTFunction {
		o, fn = c.Options(2, known...), 3
	} else if c.Arg(3) != lua.LNil {
		if c.Arg(3).Type() == lua.LTTable {
			c.BadArg(3, "options come before the function: name, options, function")
		}
		c.Surplus(3, 2)
	}
	r := m.request(c, name)
	if o.Choice("scope", lock.DB.String(), lock.Local.String()) == lock.Local.String() {
		r.Scope = lock.Local
	} else {
		r.Spend = func() error { return spend(c.Env.DataOps, name) }
	}
	r.Lease = o.Millis("lease_ms", r.Lease, lock.MinLease, m.locks.MaxLease())
	c.Function(fn)
	return r, fn, o
}

// request returns the request of c with the defaults of all options.
func (m *module) request(c *native.Call, name string) lock.Request {
	e := c.Env
	return lock.Request{
		Key:     lock.Key{Tenant: e.Tenant, Name: name},
		Started: c.Entered(),
		Lease:   min(defaultLease, m.locks.MaxLease()),
		By:      lock.Holder{HostKind: e.HostKind, HostName: e.HostName, Process: m.options.Process, Run: e.RunID, Script: e.Script},
		Held:    native.State(c.Run, heldKey{}, func() *lock.Held { return new(lock.Held) }),
		HostEnd: e.HostEnd,
		Warn: func(text string) {
			e.Log.Log("warn", text, value.Map{"lock": name})
		},
	}
}

// heldKey is the key of the locks that a run holds, in its state.
type heldKey struct{}

// spend takes one request from the run's budget.
func spend(ops *tenant.Budget, name string) error {
	if ops.Spend(1) {
		return nil
	}
	return lock.BudgetError(lock.Key{Name: name}, ops.Name, ops.Limit)
}

// waitMillis reads wait_ms. More than a hundred years are cut to what a duration
// can hold: a wait ends with the lease anyway.
func waitMillis(o native.Options) time.Duration {
	const most = float64(math.MaxInt64/2) / float64(time.Millisecond)
	ms := o.Number("wait_ms", 0, 0, math.MaxFloat64)
	return time.Duration(min(ms, most) * float64(time.Millisecond))
}
