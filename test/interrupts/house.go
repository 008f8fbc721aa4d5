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

// house is a process with all native modules, over a table in memory and over
// servers and streams that stall. Its scripts have native.probe besides.
type house struct {
	*probe
	clock  *clock.Dual
	engine *runtime.Engine
	site   *site
	sql    *sql.DB
}

// newHouse makes a house. yield is that of its runs; nil is production's.
func newHouse(yield func()) (*house, error) {
	clk := clock.NewDual(clock.System())
	h := &house{probe: newProbe(clk, yield), clock: clk}
	store := &stalling{memory.New(clk), h.probe}
	held := lock.Row{Key: lock.Key{Tenant: observed, Name: "held"}, Owner: "another", Until: math.MaxInt64}
	if a := store.Store.PutLock(context.Background(), held, 0); a.Err != nil {
		return nil, a.Err
	}
	locks, err := lock.New(clk, store, lock.MachineClock{}, lock.Options{})
	if err != nil {
		return nil, err
	}
	if h.site, err = newSite(h.probe); err != nil {
		return nil, err
	}
	h.sql = h.databases(clk)
	modules := []native.Module{
		coremodule.New(), deadlinemodule.New(), jsonmodule.New(), logmodule.New(),
		lockmodule.New(locks, lockmodule.Options{}),
		dbmodule.New(db.New(store, clk, nil)),
		httpmodule.New(h.site.client), streammodule.New(streammodule.Options{Streams: h.streams}), sqlmodule.New(h.sql),
	}
	for i := range modules {
		modules[i] = h.watch(modules[i])
	}
	h.engine = runtime.New(runtime.Config{
		Clock: clk, Modules: append(modules, h.probe.module()), HostKind: "test", HostName: "interrupts",
		Memory: vm.NewMemoryWatcher(0), Yield: yield,
	})
	return h, nil
}

// close closes what the house has open. Nothing may run any more.
func (h *house) close() {
	h.site.close()
	_ = h.sql.Close() // whose servers are its own
}

// observed is the tenant whose calls are measured.
const observed tenant.ID = "observed"

// run runs a script of a tenant until it ends or ctx does.
func (h *house) run(ctx context.Context, id tenant.ID, source string) *runtime.Result {
	return h.engine.Run(ctx, runtime.Invocation{
		Tenant: id, Script: "interrupts.lua", Source: source, Log: discard{},
		Scripts: []fs.FS{fstest.MapFS{"spins.lua": {Data: []byte("while true do end")}}},
		Limits: tenant.Limits{
			Timeout: time.Hour, MemoryBytes: 1 << 30, DataOps: math.MaxInt32, LogBytes: math.MaxInt64 / 2,
		},
	})
}

type discard struct{}

func (discard) Log(string, string, value.Map) {}

// stalling is a table that doesn't answer about the partition or the lock
// "silent", and tells the probe of each request that goes out.
type stalling struct {
	*memory.Store
	probe *probe
}

var (
	_ db.Store   = (*stalling)(nil)
	_ lock.Table = (*stalling)(nil)
)

// stalls notes a request, and waits until it is given up if it is about
// something silent.
func (s *stalling) stalls(ctx context.Context, name string) bool {
	s.probe.sent(ctx)
	if name != "silent" && !strings.HasSuffix(name, "/silent") {
		return false
	}
	<-ctx.Done()
	return true
}

func gaveUp(ctx context.Context, result outcome.Outcome) outcome.Attempt {
	return outcome.Attempt{Outcome: result, Err: ctx.Err()}
}

func (s *stalling) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	if s.stalls(ctx, key.Partition) {
		return db.RowResult{Attempt: gaveUp(ctx, outcome.NotApplied)}
	}
	return s.Store.Get(ctx, key, stale)
}

func (s *stalling) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	if s.stalls(ctx, keys[0].Partition) {
		return db.BatchResult{Attempt: gaveUp(ctx, outcome.NotApplied)}
	}
	return s.Store.GetMany(ctx, keys, stale)
}

func (s *stalling) Query(ctx context.Context, q db.Query) db.QueryResult {
	if s.stalls(ctx, q.Partition) {
		return db.QueryResult{Attempt: gaveUp(ctx, outcome.NotApplied)}
	}
	return s.Store.Query(ctx, q)
}

func (s *stalling) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	if s.stalls(ctx, w.Key.Partition) {
		return db.RowResult{Attempt: gaveUp(ctx, outcome.Unknown)}
	}
	return s.Store.Write(ctx, w, now)
}

func (s *stalling) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	if s.stalls(ctx, writes[0].Key.Partition) {
		return db.TransactResult{Attempt: gaveUp(ctx, outcome.Unknown)}
	}
	return s.Store.Transact(ctx, token, writes, now)
}

func (s *stalling) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	if s.stalls(ctx, row.Name) {
		return lock.RowResult{Attempt: gaveUp(ctx, outcome.Unknown)}
	}
	return s.Store.PutLock(ctx, row, now)
}
