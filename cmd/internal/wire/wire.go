// Package wire puts the parts of a program together. It holds the list of native
// modules, chooses the engine behind native.db, and makes the log.
package wire

import (
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/http"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/dbmodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/httpmodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/logmodule"
	"github.com/tidelock-lua/tidelock/native/module/sqlmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/sql"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Config is what a program is put together from.
type Config struct {
	// Config is how the program is set up.
	Config *config.Config
	// HostKind is "cli", "lambda" or "task".
	HostKind string
	// Log is the program's own log.
	Log *zap.Logger
	// Embedded opens the embedded engine on a file; nil is a program without
	// one. It is a value so that such a program doesn't link SQLite.
	Embedded func(file string, clk *clock.Dual) (Store, error)
	// SQLDrivers are the drivers that connections of native.sql may name.
	SQLDrivers map[string]sql.Driver
	// Streams are the streams of native.stream, the same for every tenant. The
	// default is none.
	Streams stream.Streams
	// Listeners are the addresses that the program listens on. Scripts can't
	// reach them.
	Listeners []string
	// Modules are native modules that only this program has.
	Modules []native.Module
	// Observers observe runs, locks and blocked requests, in addition to the log.
	Observers Observers
}

// Observers make metrics and traces. Nil fields are not called.
type Observers struct {
	Runs  runtime.Observer
	Locks []lock.Events
	// ClockAhead is called with how far this machine's clock is ahead of the
	// table's, and with 0 when they agree again.
	ClockAhead func(time.Duration)
	// Blocked is called for each request to a host that a tenant may not reach.
	Blocked func(tenant.ID)
}

// Program is a runtime with its store.
type Program struct {
	Engine *runtime.Engine
	Clock  *clock.Dual
	// Locks are the locks of native.lock, for hosts.
	Locks *lock.Locks
	// Store opens at its first request.
	Store Store
	// Health is what is known of the store.
	Health *Health
	// TableTime is the time by which rows of locks expire.
	TableTime lock.TableTime

	config    atomic.Pointer[config.Config]
	client    *http.Client
	databases *sql.DB
}

// New makes a program. Close it after its last run.
func New(c Config) (*Program, error) {
	clk := clock.NewDual(clock.System())
	health := newHealth(c)
	store := observed{&onDemand{clock: clk, open: func() (Store, error) { return c.openStore(clk) }}, health}
	tableTime := c.tableTime()
	locks, err := lock.New(clk, store, tableTime, lock.Options{
		Guard:    time.Duration(c.Config.Lock.GuardMillis) * time.Millisecond,
		MaxLease: c.Config.Lock.MaxLease.Value(),
		Events:   c.lockEvents(),
	})
	if err != nil {
		return nil, err
	}
	p := &Program{}
	p.config.Store(c.Config)
	client, err := c.openHTTP(p.config.Load)
	if err != nil {
		return nil, err
	}
	databases := c.openSQL(clk, p.config.Load)
	hostName, err := os.Hostname()
	if err != nil {
		hostName = "unknown"
	}
	p.Clock, p.Locks, p.Store, p.Health, p.TableTime, p.client, p.databases = clk, locks, store, health, tableTime, client, databases
	p.Engine = runtime.New(runtime.Config{
		Clock:    clk,
		HostKind: c.HostKind,
		HostName: hostName,
		Memory:   newMemoryWatcher(),
		Observer: c.Observers.Runs,
		Modules: append([]native.Module{
			coremodule.New(),
			dbmodule.New(db.New(store, clk, tableTime.Observe)),
			deadlinemodule.New(),
			httpmodule.New(client),
			jsonmodule.New(),
			lockmodule.New(locks, lockmodule.Options{Process: strconv.Itoa(os.Getpid())}),
			logmodule.New(),
			sqlmodule.New(databases),
			streammodule.New(streammodule.Options{Streams: func(tenant.ID) stream.Streams { return c.Streams }}),
		}, c.Modules...),
	})
	return p, nil
}

// Reload replaces what scripts may reach: hosts of native.http and connections of
// native.sql. Runs keep the connections that they
// have opened.
func (p *Program) Reload(next *config.Config) {
	old := p.config.Swap(next)
	for name := range old.Tenants {
		id := tenant.ID(name)
		connections := next.Connections(id)
		for name, was := range old.Connections(id) {
			if connections[name] != was {
				p.databases.Forget(id, name)
			}
		}
	}
}

// DropIdle closes idle connections. After a suspension of the process the other
// side has forgotten them.
func (p *Program) DropIdle() {
	p.client.CloseIdle()
	if s, ok := p.Store.(interface{ DropIdle() }); ok {
		s.DropIdle()
	}
}

// Close closes what the program has opened.
func (p *Program) Close() error {
	p.client.CloseIdle()
	return errors.Join(p.databases.Close(), p.Store.Close())
}

// lockEvents returns the observers' events, and logs locks that were not released.
func (c Config) lockEvents() lock.Events {
	logged := lock.Events{Release: func(r lock.ReleaseEvent) {
		if r.Err != nil {
			c.Log.Warn("a lock was not released and runs out by itself", zap.String("tenantId", string(r.Key.Tenant)),
				zap.String("lock", r.Key.Name), zap.String("runId", r.By.Run), zap.Error(outcome.Detailed(r.Err)))
		}
	}}
	if c.Observers.Locks == nil {
		return logged
	}
	return lock.JoinEvents(append(c.Observers.Locks, logged)...)
}
