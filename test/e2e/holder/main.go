// Command holder runs a script as a host does, and counts the native calls that
// it makes under locks: all, and those that began after their lease.
//
//	holder ENDPOINT TABLE LEASE SCRIPT EVENT
//
// Every lock that the script asks for has the lease LEASE. What has been counted
// so far is printed as JSON each time that one is given up, for this process to
// be killed at any moment. SIGTERM ends it in order.
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

// open makes an engine whose native functions are watched.
func open(endpoint, table string, lease time.Duration) (*runtime.Engine, error) {
	dual := clock.NewDual(clock.System())
	store, err := dynamo.Open(context.Background(), dual, dynamo.Options{Table: table, Endpoint: endpoint})
	if err != nil {
		return nil, err
	}
	clk := lock.NewTableClock(0, nil)
	w := &watch{Table: store, clock: dual, lease: lease}
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
				w.called(c.Entered().ElapsedMax)
				return do(c)
			}
		}
	}
	return runtime.New(runtime.Config{Clock: dual, HostKind: "test", HostName: "test", Modules: modules}), nil
}

// watch stands between the locks and their table, to know when a lease ends
// without asking those that are to end it: not later than a lease after the
// put was sent that wrote the row.
type watch struct {
	lock.Table
	clock *clock.Dual
	lease time.Duration

	mu    sync.Mutex // guards what follows
	owner string     // who asks
	// sent is when that owner sent its puts, by the start in their rows, but for
	// those that wrote nothing. Of those that wrote the same row, the first
	// counts.
	sent map[lock.UnixMilli]time.Duration
	end  time.Duration // fast hand: of the lease that is held; 0 if none is
	seen seen
}

// seen is what is counted.
type seen struct {
	Leases int // that were granted
	Calls  int // that began under one
	Late   int // of them, after its end
}

func (w *watch) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
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
		// It wrote nothing, and the next one may have the same start: that is
		// the table's time at its latest, which the answers push back.
		delete(w.sent, row.Start)
	}
	return a
}

// DeleteLock is sent after a function has ended, also if it never began
// because nothing of its lease was left.
func (w *watch) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	w.mu.Lock()
	if owner == w.owner {
		w.end = 0
	}
	w.mu.Unlock()
	return w.Table.DeleteLock(ctx, key, owner)
}

// called is told when each native call has passed the gate.
func (w *watch) called(at time.Duration) {
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

// released is told when a lease has been given up.
func (w *watch) released(lock.ReleaseEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = 0
	if text, err := json.Marshal(w.seen); err == nil {
		fmt.Println(string(text))
	}
}

// discard is a log that nobody reads.
type discard struct{}

func (discard) Log(string, string, value.Map) {}
