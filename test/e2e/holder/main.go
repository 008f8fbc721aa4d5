// Command holder runs a script as a host does, and counts the native calls that
// the script makes under locks: all calls, and those that began after the lease.
//
//	holder ENDPOINT TABLE LEASE SCRIPT EVENT
//
// All locks of the script have the lease LEASE. The counts so far are printed as
// JSON each time that a lock is released, because this process may be killed at
// any moment. SIGTERM ends it in order.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/dbmodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return errors.New("usage: holder ENDPOINT TABLE LEASE SCRIPT EVENT")
	}
	lease, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	source, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	event, failed := runtime.ParseEvent([]byte(args[4]))
	if failed != nil {
		return failed
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	engine, err := open(args[0], args[1], lease)
	if err != nil {
		return err
	}
	r := engine.Run(ctx, runtime.Invocation{
		Tenant: "dev", Script: args[3], Source: string(source), Event: event, Log: discard{},
		Limits: tenant.Limits{Timeout: time.Hour, DataOps: 1 << 40},
	})
	if ctx.Err() == nil {
		return fmt.Errorf("the script has ended by itself: %w", r.Error)
	}
	return nil
}

// open returns an engine whose native calls are counted.
func open(endpoint, table string, lease time.Duration) (*runtime.Engine, error) {
	dual := clock.NewDual(clock.System())
	store, err := dynamo.Open(context.Background(), dual, dynamo.Options{Table: table, Endpoint: endpoint})
	if err != nil {
		return nil, err
	}
	clk := lock.NewTableClock(0, nil)
	w := &callCounter{Table: store, clock: dual, lease: lease}
	locks, err := lock.New(dual, w, clk, lock.Options{Events: lock.Events{Release: w.released}})
	if err != nil {
		return nil, err
	}
	modules := []native.Module{
		coremodule.New(), deadlinemodule.New(), dbmodule.New(db.New(store, dual, clk.Observe)),
		lockmodule.New(locks, lockmodule.Options{}),
	}
	for _, m := range modules {
		for i := range m.Funcs {
			do := m.Funcs[i].Do
			m.Funcs[i].Do = func(c *native.Call) error {
				w.countCall(c.Entered().ElapsedMax)
				return do(c)
			}
		}
	}
	return runtime.New(runtime.Config{Clock: dual, HostKind: "test", HostName: "test", Modules: modules}), nil
}

// callCounter counts calls and wraps the table of the locks. From the requests it
// knows when a lease ends, independently of the code under test: at most a lease
// after the put that wrote the row was sent.
type callCounter struct {
	lock.Table
	clock *clock.Dual
	lease time.Duration

	mu    sync.Mutex // guards what follows
	owner string     // of the current acquisition
	// sent is when that owner sent its puts, by the start in their rows, without
	// the puts that wrote nothing. Of several puts of the same row, the first
	// counts.
	sent map[lock.UnixMilli]time.Duration
	end  time.Duration // of the current lease, in terms of clock.ElapsedMax; 0 if there is none
	seen counts
}

// counts are the counts so far.
type counts struct {
	Leases int // granted
	Calls  int // begun under a lease
	Late   int // of these, begun after the end of the lease
}

func (w *callCounter) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	w.mu.Lock()
	if w.owner != row.Owner {
		w.owner, w.sent = row.Owner, map[lock.UnixMilli]time.Duration{}
	}
	_, again := w.sent[row.Start]
	if !again {
		w.sent[row.Start] = w.clock.ElapsedMax()
	}
	w.mu.Unlock()

	a := w.Table.PutLock(ctx, row, now)

	w.mu.Lock()
	defer w.mu.Unlock()
	stored := row
	if a.Outcome == outcome.Refused && a.Old != nil {
		stored = *a.Old
	}
	if a.Outcome == outcome.Applied || a.Outcome == outcome.Refused && stored.Owner == row.Owner {
		w.end = w.sent[stored.Start] + w.lease
		w.seen.Leases++
	} else if !again && a.Outcome != outcome.Unknown {
		// It wrote nothing, and the next put may have the same start, which is the
		// latest estimate of the table's time: answers may lower it.
		delete(w.sent, row.Start)
	}
	return a
}

// DeleteLock is called after a function has ended, also if it never began because
// nothing of its lease was left.
func (w *callCounter) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	w.mu.Lock()
	if owner == w.owner {
		w.end = 0
	}
	w.mu.Unlock()
	return w.Table.DeleteLock(ctx, key, owner)
}

// countCall counts a native call that passed the interrupt check at the time at.
func (w *callCounter) countCall(at time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == 0 {
		return
	}
	w.seen.Calls++
	if at > w.end {
		w.seen.Late++
	}
}

// released prints the counts after a lock was released.
func (w *callCounter) released(lock.ReleaseEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = 0
	if text, err := json.Marshal(w.seen); err == nil {
		fmt.Println(string(text))
	}
}

// discard discards log records.
type discard struct{}

func (discard) Log(string, string, value.Map) {}
