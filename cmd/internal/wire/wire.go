// Package wire puts the parts together for the programs: THE list of native
// modules, the choice of the engine behind native.db, and the log.
package wire

import (
	"context"
	"os"
	"strconv"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/core"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/deadline"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/log"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Config is what a program is put together from.
type Config struct {
	// HostKind is "cli", "lambda" or "task".
	HostKind string
	// DB says where native.db keeps its data, after [DB.Resolve].
	DB DB
	// Log takes what the program itself reports.
	Log *zap.Logger
}

// Program is a runtime with its store.
type Program struct {
	Engine *runtime.Engine
	Hands  *vm.Hands
	store  *onDemand
}

// New puts a program together. Close it when no run is left.
func New(c Config) (*Program, error) {
	hands := vm.NewHands(vm.SystemClock())
	store := &onDemand{hands: hands, open: func() (engine, error) { return open(c, hands) }}
	tableTime := c.DB.time(c.Log)
	locks, err := lock.New(hands, store, tableTime, lock.Options{Events: lockEvents(c.Log)})
	if err != nil {
		return nil, err
	}
	hostName, err := os.Hostname()
	if err != nil {
		hostName = "unknown"
	}
	return &Program{
		Hands: hands,
		store: store,
		Engine: runtime.New(runtime.Config{
			Hands:    hands,
			HostKind: c.HostKind,
			HostName: hostName,
			Guard:    newGuard(),
			Modules: []native.Module{
				core.New(),
				db.Module(db.New(store, hands, tableTime.Observe)),
				deadline.New(),
				json.New(),
				lock.NewModule(locks, lock.ModuleOptions{Process: strconv.Itoa(os.Getpid())}),
				log.New(),
			},
		}),
	}, nil
}

// Close closes the store.
func (p *Program) Close() error { return p.store.Close() }

// open opens the engine that the configuration has chosen.
func open(c Config, hands *vm.Hands) (e engine, err error) {
	if c.DB.Table != "" {
		e, err = c.DB.OpenTable(context.Background(), hands, c.Log)
	} else {
		e, err = sqlite.Open(c.DB.File, hands, sqlite.Options{})
	}
	if err != nil {
		c.Log.Error("the database can't be opened", zap.Error(err))
		return nil, err
	}
	return e, nil
}

// lockEvents puts into the log what an operator wants to know of locks.
func lockEvents(log *zap.Logger) lock.Events {
	return lock.Events{Released: func(r lock.Released) {
		if r.Err != nil {
			log.Warn("a lock was not released and runs out by itself", zap.String("tenantId", string(r.Key.Tenant)),
				zap.String("lock", r.Key.Name), zap.String("runId", r.By.Run), zap.Error(r.Err))
		}
	}}
}
