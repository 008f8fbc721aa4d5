package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

// faulty is a store whose requests fail as the test says.
type faulty struct {
	*memory.Store
	mu      sync.Mutex // guards what follows
	failure error      // of all requests; nil is a store that answers
	deletes int
}

// fail makes all requests fail with err, or none if it is nil.
func (f *faulty) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
}

// failed is how the next request fails; ok is false if it doesn't.
func (f *faulty) failed() (a outcome.Attempt, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return outcome.Attempt{Outcome: outcome.NotApplied, Err: f.failure}, f.failure != nil
}

// count is how many deletes there have been.
func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deletes
}

func (f *faulty) Close() error { return nil }

func (f *faulty) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	if a, ok := f.failed(); ok {
		return db.RowResult{Attempt: a}
	}
	return f.Store.Get(ctx, key, stale)
}

func (f *faulty) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	f.mu.Lock()
	f.deletes++
	f.mu.Unlock()
	if a, ok := f.failed(); ok {
		return lock.RowResult{Attempt: a}
	}
	return f.Store.DeleteLock(ctx, key, owner)
}

// observedStore is a program's store with its health, in fake time.
func observedStore(t *testing.T) (p *Program, f *faulty, logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	clk := clock.NewDual(clock.System())
	f = &faulty{Store: memory.New(clk)}
	c := Config{Log: zap.New(core), Config: &config.Config{DB: config.DB{Table: "tidelock", Endpoint: "http://10.0.0.7:8000"}}}
	health := newHealth(c)
	return &Program{Health: health, Store: observed{&onDemand{clock: clk, open: func() (Store, error) { return f, nil }}, health}}, f, logs
}

// unavailable is how an engine says that nothing answers; scripts see its message
// alone.
var unavailable = &outcome.Error{
	Code: db.CodeUnavailable, Message: "the table can't be reached", Cause: fmt.Errorf("dial tcp 10.0.0.7:8000: %w", syscall.ECONNREFUSED),
}

func (p *Program) ready() bool {
	check, _ := p.Health.Problem()
	return check == ""
}

// What runs do shows whether the store answers: one failure is none, failures
// without an answer for 5 s are.
func TestHealthIsSeenByWhatRunsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f, logs := observedStore(t)
		get := func() { p.Store.Get(t.Context(), db.Key{Partition: "a/x", Key: "k"}, false) }
		get()
		f.fail(unavailable)
		for range 20 {
			get()
		}
		if !p.ready() {
			t.Error("a moment without an answer made it unready")
		}
		time.Sleep(6 * time.Second)
		get()
		check, reason := p.Health.Problem()
		if check != "table" || !strings.Contains(reason, "10.0.0.7:8000: connection refused") {
			t.Errorf("got %q, %q; want the table and the cause", check, reason)
		}
		f.fail(&outcome.Error{Code: db.CodeThrottled, Message: "slower"})
		get()
		if !p.ready() {
			t.Error("a table that throttles does answer")
		}
		var messages []string
		for _, record := range logs.All() {
			messages = append(messages, record.Message)
		}
		if got := strings.Join(messages, ", "); got != "the database does not answer, the database answers again" {
			t.Errorf("got the records %s", got)
		}
		if text := fmt.Sprint(logs.All()[0].ContextMap()); !strings.Contains(text, "10.0.0.7:8000: connection refused") || !strings.Contains(text, "table:tidelock") {
			t.Errorf("got %s, want address and cause", text)
		}
	})
}

// A request that its run gave up says nothing about the store.
func TestHealthIgnoresCancelledRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f, logs := observedStore(t)
		f.fail(unavailable)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 5 {
			p.Store.Get(ctx, db.Key{Partition: "a/x", Key: "k"}, false)
			time.Sleep(3 * time.Second)
		}
		if !p.ready() || logs.Len() > 0 {
			t.Errorf("got %v", logs.All())
		}
	})
}

// A check decides at once, and is sent once a minute at most.
func TestHealthChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f, _ := observedStore(t)
		if err := p.CheckStore(t.Context(), "acme"); err != nil || f.count() != 1 {
			t.Fatal(err, f.count())
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.WatchStore(ctx, func() tenant.ID { return "acme" })
		time.Sleep(10*time.Minute + time.Second)
		if f.count() < 9 || f.count() > 11 {
			t.Errorf("got %d checks in 10 minutes, want one a minute", f.count())
		}
		f.fail(unavailable)
		time.Sleep(61 * time.Second)
		if p.ready() {
			t.Error("it is ready, although the check had no answer")
		}
		err := p.CheckStore(t.Context(), "acme")
		if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), `the table "tidelock" at http://10.0.0.7:8000 can't be used`) {
			t.Errorf("got %v", err)
		}
		before := f.count()
		f.fail(nil)
		time.Sleep(62 * time.Second)
		if !p.ready() || f.count() != before+1 {
			t.Errorf("ready %v after %d checks, want that one made it ready", p.ready(), f.count()-before)
		}
		stop()
		synctest.Wait()
	})
}
