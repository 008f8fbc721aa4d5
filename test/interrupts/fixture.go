package main

import (
	"context"
	"io/fs"
	"math"
	"strings"
	"testing/fstest"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/memory"
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
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// fixture is an engine with all native modules and with native.probe. The table
// in memory, the servers and the streams behind the modules can stall.
type fixture struct {
	*probe
	clock  *clock.Dual
	engine *runtime.Engine
	server *httpServer
	sql    *sql.DB
}

// newFixture returns a fixture. yield is the Yield of its runs; nil means the
// one of production.
func newFixture(yield func()) (*fixture, error) {
	clk := clock.NewDual(clock.System())
	f := &fixture{probe: newProbe(clk, yield), clock: clk}
	store := &stallingTable{memory.New(clk), f.probe}
	held := lock.Row{Key: lock.Key{Tenant: observed, Name: "held"}, Owner: "another", Until: math.MaxInt64}
	if a := store.Store.PutLock(context.Background(), held, 0); a.Err != nil {
		return nil, a.Err
	}
	locks, err := lock.New(clk, store, lock.MachineClock{}, lock.Options{})
	if err != nil {
		return nil, err
	}
	if f.server, err = newHTTPServer(f.probe); err != nil {
		return nil, err
	}
	f.sql = f.databases(clk)
	modules := []native.Module{
		coremodule.New(), deadlinemodule.New(), jsonmodule.New(), logmodule.New(),
		lockmodule.New(locks, lockmodule.Options{}),
		dbmodule.New(db.New(store, clk, nil)),
		httpmodule.New(f.server.client), streammodule.New(streammodule.Options{Streams: f.streams}), sqlmodule.New(f.sql),
	}
	for i := range modules {
		modules[i] = f.watch(modules[i])
	}
	config := runtime.Config{
		Clock: clk, Modules: append(modules, f.probe.module()), HostKind: "test", HostName: "interrupts", Yield: yield,
	}
	if yield == nil { // in fake time nothing may poll because real time has passed
		config.Memory = vm.NewMemoryWatcher(0)
	}
	f.engine = runtime.New(config)
	return f, nil
}

// close closes what the fixture has open. No run may be active any more.
func (f *fixture) close() {
	f.server.close()
	_ = f.sql.Close() // closing a fake server does not fail
}

// observed is the tenant whose calls are measured.
const observed tenant.ID = "observed"

// run runs a script of a tenant until it ends or ctx does.
func (f *fixture) run(ctx context.Context, id tenant.ID, source string) *runtime.Result {
	return f.engine.Run(ctx, runtime.Invocation{
		Tenant: id, Script: "interrupts.lua", Source: source, Log: discard{},
		Scripts: []fs.FS{fstest.MapFS{"spins.lua": {Data: []byte("while true do end")}}},
		Limits: tenant.Limits{
			Timeout: time.Hour, MemoryBytes: 1 << 30, DataOps: math.MaxInt32, LogBytes: math.MaxInt64 / 2,
		},
	})
}

type discard struct{}

func (discard) Log(string, string, value.Map) {}

// stallingTable is a table that does not answer requests about the partition or
// the lock "silent". It reports each request to the probe.
type stallingTable struct {
	*memory.Store
	probe *probe
}

var (
	_ db.Store   = (*stallingTable)(nil)
	_ lock.Table = (*stallingTable)(nil)
)

// stalls reports a request to the probe. If the request is about something
// silent, it waits until the request is given up and returns true.
func (s *stallingTable) stalls(ctx context.Context, name string) bool {
	s.probe.requestSent(ctx)
	if name != "silent" && !strings.HasSuffix(name, "/silent") {
		return false
	}
	<-ctx.Done()
	return true
}

func givenUp(ctx context.Context, result outcome.Outcome) outcome.Attempt {
	return outcome.Attempt{Outcome: result, Err: ctx.Err()}
}

func (s *stallingTable) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	if s.stalls(ctx, key.Partition) {
		return db.RowResult{Attempt: givenUp(ctx, outcome.NotApplied)}
	}
	return s.Store.Get(ctx, key, stale)
}

func (s *stallingTable) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	if s.stalls(ctx, keys[0].Partition) {
		return db.BatchResult{Attempt: givenUp(ctx, outcome.NotApplied)}
	}
	return s.Store.GetMany(ctx, keys, stale)
}

func (s *stallingTable) Query(ctx context.Context, q db.Query) db.QueryResult {
	if s.stalls(ctx, q.Partition) {
		return db.QueryResult{Attempt: givenUp(ctx, outcome.NotApplied)}
	}
	return s.Store.Query(ctx, q)
}

func (s *stallingTable) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	if s.stalls(ctx, w.Key.Partition) {
		return db.RowResult{Attempt: givenUp(ctx, outcome.Unknown)}
	}
	return s.Store.Write(ctx, w, now)
}

func (s *stallingTable) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	if s.stalls(ctx, writes[0].Key.Partition) {
		return db.TransactResult{Attempt: givenUp(ctx, outcome.Unknown)}
	}
	return s.Store.Transact(ctx, token, writes, now)
}

func (s *stallingTable) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	if s.stalls(ctx, row.Name) {
		return lock.RowResult{Attempt: givenUp(ctx, outcome.Unknown)}
	}
	return s.Store.PutLock(ctx, row, now)
}
