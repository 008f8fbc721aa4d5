package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Health knows whether a store answers, from the requests of runs and from its own
// checks. It logs failures with their cause, which no script sees.
type Health struct {
	log   *zap.Logger
	store []zap.Field // describe the store in the log
	name  string      // describes it in a text
	file  bool        // it is the embedded engine

	mu       sync.Mutex // guards what follows
	read     streak     // failed reads without one that was answered in between
	write    streak
	logged   time.Time // when a failure was logged last; zero since an answer
	text     string    // what was logged
	answered time.Time // when a write was answered last
	checked  time.Time // when the last check was sent
}

// streak is a series of failures.
type streak struct {
	n           int
	first, last time.Time
	err         error
	decided     bool // by a check, which makes several attempts
}

const (
	// checkPause is the shortest time between two checks, and how long an
	// answer to a write counts.
	checkPause = time.Minute
	// A streak of streakMin failures over streakTime is more than a passing failure.
	streakTime = 5 * time.Second
	streakMin  = 3
	// logPause is the time before the same failure is logged again.
	logPause = time.Minute
)

func newHealth(c Config) *Health {
	h := &Health{log: c.Log}
	switch db := c.Config.DB; {
	case db.Table != "":
		h.name = fmt.Sprintf("the table %q", db.Table)
		h.store = []zap.Field{zap.String("table", db.Table)}
		if db.Region != "" {
			h.store = append(h.store, zap.String("region", db.Region))
		}
		if db.Endpoint != "" {
			h.name += " at " + db.Endpoint
			h.store = append(h.store, zap.String("endpoint", db.Endpoint))
		}
	default:
		h.file, h.name, h.store = true, fmt.Sprintf("the database file %q", db.File), []zap.Field{zap.String("dbFile", db.File)}
	}
	return h
}

// observe notes how an attempt ended.
func (h *Health) observe(ctx context.Context, write bool, a outcome.Attempt) {
	failed := fails(ctx, a)
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.read
	if write {
		s = &h.write
	}
	if failed != nil {
		if s.n == 0 {
			s.first = now
		}
		s.n, s.last, s.err = s.n+1, now, failed
		h.logFailure(now, write, failed)
		return
	}
	if ctx.Err() != nil && a.Err != nil {
		return // it was given up before its answer came
	}
	if write {
		h.answered = now
	}
	if s.n > 0 {
		*s = streak{}
		h.logAnswer()
	}
}

// fails returns the error of an attempt that the store didn't answer, or nil if it
// did. A rejection of the request is an answer.
func fails(ctx context.Context, a outcome.Attempt) error {
	if a.Outcome == outcome.Applied || a.Outcome == outcome.Refused || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	if known, ok := errors.AsType[*outcome.Error](a.Err); ok && known.Code != db.CodeUnavailable && a.Outcome == outcome.NotApplied {
		return nil
	}
	if a.Err == nil {
		return errors.New("no answer")
	}
	return outcome.Detailed(a.Err)
}

// logFailure logs a failure that was not logged lately.
func (h *Health) logFailure(now time.Time, write bool, err error) {
	if text := err.Error(); now.Sub(h.logged) >= logPause || text != h.text && now.Sub(h.logged) >= time.Second {
		h.logged, h.text = now, text
		h.log.Error("the database does not answer", append(h.fields(), zap.Bool("write", write), zap.Error(err))...)
	}
}

// logAnswer logs that the store answers again, if nothing fails any more.
func (h *Health) logAnswer() {
	if h.read.n == 0 && h.write.n == 0 && !h.logged.IsZero() {
		h.logged, h.text = time.Time{}, ""
		h.log.Info("the database answers again", h.fields()...)
	}
}

func (h *Health) fields() []zap.Field { return h.store[:len(h.store):len(h.store)] }

// Problem returns why the store can't be used, or "" if it can as far as is known.
// check is the kind of store, "table" or "file".
func (h *Health) Problem() (check, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	check = "table"
	if h.file {
		check = "file"
	}
	for _, one := range []struct {
		streak
		what string
	}{{h.write, "can't be written"}, {h.read, "can't be read"}} {
		if one.n > 0 && (one.decided || one.n >= streakMin && one.last.Sub(one.first) >= streakTime) {
			return check, fmt.Sprintf("%s %s: %v", h.name, one.what, one.err)
		}
	}
	return "", ""
}

// due reports whether it is time for a check.
func (h *Health) due(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	failing := h.read.n > 0 || h.write.n > 0
	return now.Sub(h.checked) >= checkPause && (failing || now.Sub(h.answered) >= checkPause)
}

// readyLock is the name of the lock whose row the check writes. No script can
// acquire a lock of this name.
const readyLock = "native:ready"

// CheckStore checks that the store can be used, with one write that changes no
// data, and that is repeated if there is no answer. id is a tenant whose rows the
// process may write.
func (p *Program) CheckStore(ctx context.Context, id tenant.ID) error {
	h := p.Health
	h.mu.Lock()
	h.checked = time.Now()
	h.mu.Unlock()
	err := p.tryWrite(ctx, lock.Key{Tenant: id, Name: readyLock})
	if err == nil || ctx.Err() != nil {
		return err
	}
	h.mu.Lock()
	if h.write.n > 0 {
		h.write.decided = true
	}
	h.mu.Unlock()
	return fmt.Errorf("%s can't be used: %w", h.name, outcome.Detailed(err))
}

// tryWrite makes a write that changes no data.
func (p *Program) tryWrite(ctx context.Context, key lock.Key) error {
	if p.Health.file {
		// Only what is written shows that there is room. The row has run out
		// already when it is put.
		now := lock.UnixMilli(time.Now().UnixMilli())
		row := lock.Row{Key: key, Owner: "ready", Start: now, Until: now, By: lock.Holder{HostKind: "task"}}
		put := p.Store.PutLock(ctx, row, now)
		if put.Outcome != outcome.Applied && put.Outcome != outcome.Refused && put.Err != nil {
			return put.Err
		}
		_, _, err := locktable.Free(ctx, p.Store, key, row.Owner)
		return err
	}
	_, err := locktable.Holder(ctx, p.Store, key)
	return err
}

// WatchStore checks the store if nothing has been known of it for a minute, or if
// requests fail. It does so at most once a minute, until ctx ends.
func (p *Program) WatchStore(ctx context.Context, id func() tenant.ID) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if id := id(); id != "" && p.Health.due(now) {
				_ = p.CheckStore(ctx, id) // the error is logged, and Problem returns it
			}
		case <-ctx.Done():
			return
		}
	}
}

// observed is a store whose health is observed.
type observed struct {
	*onDemand
	health *Health
}

func (o observed) Get(ctx context.Context, key db.Key, stale bool) db.RowResult {
	r := o.onDemand.Get(ctx, key, stale)
	o.health.observe(ctx, false, r.Attempt)
	return r
}

func (o observed) GetMany(ctx context.Context, keys []db.Key, stale bool) db.BatchResult {
	r := o.onDemand.GetMany(ctx, keys, stale)
	o.health.observe(ctx, false, r.Attempt)
	return r
}

func (o observed) Query(ctx context.Context, q db.Query) db.QueryResult {
	r := o.onDemand.Query(ctx, q)
	o.health.observe(ctx, false, r.Attempt)
	return r
}

func (o observed) Write(ctx context.Context, w db.Write, now int64) db.RowResult {
	r := o.onDemand.Write(ctx, w, now)
	o.health.observe(ctx, true, r.Attempt)
	return r
}

func (o observed) Transact(ctx context.Context, token string, writes []db.Write, now int64) db.TransactResult {
	r := o.onDemand.Transact(ctx, token, writes, now)
	o.health.observe(ctx, true, r.Attempt)
	return r
}

func (o observed) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	r := o.onDemand.PutLock(ctx, row, now)
	o.health.observe(ctx, true, r.Attempt)
	return r
}

func (o observed) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	r := o.onDemand.DeleteLock(ctx, key, owner)
	o.health.observe(ctx, true, r.Attempt)
	return r
}

func (o observed) ListLocks(ctx context.Context, id tenant.ID, after string) lock.Page {
	r := o.onDemand.ListLocks(ctx, id, after)
	o.health.observe(ctx, false, r.Attempt)
	return r
}
