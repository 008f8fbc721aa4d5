package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
	engines "github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// lockComparisons compare an uncontended native.lock.with from Lua with the
// lowest possible cost.
func lockComparisons() []comparison {
	empty := `local f = function() end`
	return []comparison{
		{name: "local", goal: "at most 10x", contenders: []contender{
			{"gopher-lua pcall", luaLoop(empty, `pcall(f)`)},
			{"native.lock.with", tidelockLoop(nil, nil, empty+` local o = {scope = "local"}`, `native.lock.with("l", o, f)`)},
		}},
		{name: "db, embedded", goal: "at most 1.3x", contenders: []contender{
			{"the engine's put and delete", bareLock},
			{"native.lock.with", func() (func(int), func()) {
				clk, store, stop := openSQLite()
				op, _ := tidelockLoop(clk, store, empty, `native.lock.with("l", f)`)()
				return op, stop
			}},
		}},
	}
}

func openSQLite() (*clock.Dual, *sqlite.Store, func()) {
	dir := must(os.MkdirTemp("", "tidelock-bench"))
	clk := clock.NewDual(clock.System())
	store := must(sqlite.Open(filepath.Join(dir, "bench.db"), clk, sqlite.Options{}))
	return clk, store, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}

// bareLock puts and deletes the row of a lock without the protocol around it.
func bareLock() (func(int), func()) {
	_, store, stop := openSQLite()
	key := lock.Key{Tenant: "bench", Name: "l"}
	return func(n int) {
		for range n {
			now := lock.UnixMilli(time.Now().UnixMilli())
			row := lock.Row{Key: key, Owner: "0123456789abcdef0123456789abcdef", Start: now, Until: now + 32_000}
			a := store.PutLock(context.Background(), row, now)
			if d := store.DeleteLock(context.Background(), key, row.Owner); a.Err != nil || d.Err != nil {
				panic(fmt.Sprint(a.Err, d.Err))
			}
		}
	}, stop
}

// waiters lets 10,000 scripts wait for one local lock. It measures the memory of
// each and how fast the lock is handed over.
func waiters(b *bench) error {
	const count = 10_000
	engine := newEngine(nil, nil, nil)
	inv := engines.Invocation{Tenant: "bench", Script: "wait.lua", Log: discard{}, Limits: tenant.Limits{Timeout: time.Hour},
		Source: `return function() return native.lock.turn("l", {scope = "local", lease_ms = 3600000}, native.time) end`}
	release := make(chan struct{})
	held := make(chan struct{})
	holder := inv
	holder.Source = `return function() native.lock.with("l", {scope = "local", lease_ms = 3600000}, function() print() end) end`
	holder.Log = blockingLog{held, release}
	var runs sync.WaitGroup
	runs.Go(func() { engine.Run(context.Background(), holder) })
	<-held

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	results := make([]string, count)
	for i := range count {
		runs.Go(func() { results[i] = string(engine.Run(context.Background(), inv).JSON) })
	}
	for runtime.NumGoroutine() < count {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // until all of them wait, which cannot be observed
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := (after.HeapAlloc + after.StackInuse) - (before.HeapAlloc + before.StackInuse)
	close(release)
	runs.Wait()

	var times []float64
	for _, r := range results {
		var at float64
		if _, err := fmt.Sscan(r, &at); err != nil {
			return fmt.Errorf("a waiter ended with %q", r)
		}
		times = append(times, at)
	}
	slices.Sort(times)
	gaps := make([]time.Duration, 0, count)
	for i := 1; i < count; i++ {
		gaps = append(gaps, time.Duration((times[i]-times[i-1])*float64(time.Second)))
	}
	slices.Sort(gaps)
	b.table([]string{fmt.Sprintf("%d scripts wait for one local lock", count), "measured", "goal"}, [][]string{
		{"memory of each", fmt.Sprintf("%.1f KiB", float64(used)/count/1024), "under 40 KiB"},
		{"hand-over, p50", formatDuration(percentile(gaps, 50)), ""},
		{"hand-over, p99", formatDuration(percentile(gaps, 99)), ""},
	})
	return nil
}

// blockingLog blocks its first writer until release is closed.
type blockingLog struct{ reached, release chan struct{} }

func (b blockingLog) Log(string, string, value.Map) {
	close(b.reached)
	<-b.release
}
