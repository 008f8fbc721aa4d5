package sql

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// trustMax is how long an idle session counts as alive. After that it is
	// pinged first: a connection may have died unnoticed, and a write into a
	// dead one has no known outcome.
	trustMax = time.Second
	// pingMax is how long a ping may take.
	pingMax = time.Second
	// resetWait is how long to wait for a session that is being reset rather than
	// open another one.
	resetWait = 20 * time.Millisecond
)

// pool has the sessions of one tenant with one database. A session holds a slot
// while it is opened, used, reset or closed. Idle sessions hold none, and are used
// before new ones are opened, so there are never more sessions than slots.
type pool struct {
	db         *DB
	tenant     tenant.ID
	name       string
	connection Connection
	driver     Driver
	slots      chan struct{}

	mu        sync.Mutex // guards what follows
	idle      []*session // the most recently used one is last
	resetting int
	returned  chan struct{} // closed, and made anew, when a session has been reset
	sweep     *time.Timer   // closes sessions that have been idle for too long
	closed    bool
	reported  time.Duration // when Failed was last called, by ElapsedMax; 0 for never
}

// reportPause is how long a pool reports no other failure.
const reportPause = time.Second

// report calls [Options.Failed].
func (p *pool) report(e *outcome.Error) *outcome.Error {
	failed := p.db.options.Failed
	if failed == nil || e.Cause == nil {
		return e
	}
	now := p.db.options.Clock.ElapsedMax()
	p.mu.Lock()
	recent := p.reported != 0 && now-p.reported < reportPause
	if !recent {
		p.reported = max(now, 1)
	}
	p.mu.Unlock()
	if !recent {
		failed(p.tenant, e)
	}
	return e
}

func newPool(db *DB, id tenant.ID, name string, c Connection, d Driver) *pool {
	return &pool{
		db: db, tenant: id, name: name, connection: c, driver: d,
		slots: make(chan struct{}, c.MaxOpen), returned: make(chan struct{}),
	}
}

// get returns a session, which is returned by put.
func (p *pool) get(ctx context.Context, open *OpenRows) (*session, error) {
	if err := p.slot(ctx, open); err != nil {
		return nil, err
	}
	s, err := p.session(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return s, nil
}

// slot waits for a slot. If that takes long, a loop of the same run is closed: it
// may have been left by a break.
func (p *pool) slot(ctx context.Context, open *OpenRows) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(p.db.options.WaitMax / 2)
	defer timer.Stop()
	if _, n := open.oldest(p); n == cap(p.slots) {
		open.closeOldest(p) // no other run has any
	}
	for try := 1; ; try++ {
		select {
		case p.slots <- struct{}{}:
			return nil
		case <-ctx.Done():
			return callEnded()
		case <-timer.C:
		}
		if try == 2 {
			return &outcome.Error{
				Code: CodeBusy, Key: p.name, Retryable: true,
				Message: fmt.Sprintf("all %d connections have been in use for %v", cap(p.slots), p.db.options.WaitMax),
			}
		}
		open.closeOldest(p)
		timer.Reset(p.db.options.WaitMax / 2)
	}
}

// session returns an idle session that is alive, or a new one.
func (p *pool) session(ctx context.Context) (*session, error) {
	for {
		s := p.takeIdle(ctx)
		if s == nil {
			return p.open(ctx)
		}
		now := p.db.options.Clock.ElapsedMax()
		if now-s.lastUsed > p.db.options.IdleMax || now-s.opened > p.db.options.LifeMax {
			p.db.background(s.close)
			continue
		}
		if now-s.lastUsed <= trustMax {
			return s, nil
		}
		within, cancel := context.WithTimeout(ctx, pingMax)
		_, err := s.do(within, s.raw.Ping)
		cancel()
		if err == nil && !s.unusable {
			return s, nil
		}
		p.db.background(s.close)
		if ctx.Err() != nil {
			return nil, callEnded()
		}
	}
}

// takeIdle returns an idle session, nil if there is none and none is about to
// become idle.
func (p *pool) takeIdle(ctx context.Context) *session {
	var late <-chan time.Time
	for {
		p.mu.Lock()
		if n := len(p.idle); n > 0 {
			s := p.idle[n-1]
			p.idle = p.idle[:n-1]
			p.mu.Unlock()
			return s
		}
		resetting, returned := p.resetting, p.returned
		p.mu.Unlock()
		if resetting == 0 {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(resetWait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-returned:
		case <-late:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// open opens a session.
func (p *pool) open(ctx context.Context) (*session, error) {
	t := Target{Connection: p.connection, ValueBytesMax: int(p.db.options.ResultBytesMax)}
	if p.connection.File == "" {
		if err := CheckHost(p.connection.Host); err != nil {
			return nil, p.report(&outcome.Error{Code: CodeUnavailable, Key: p.name, Message: "its host is neither a name nor an address", Cause: err})
		}
	}
	if p.connection.Password != nil {
		password, err := p.connection.Password()
		if err != nil {
			return nil, p.report(&outcome.Error{Code: CodeUnavailable, Key: p.name, Message: "its password can't be read", Cause: err})
		}
		t.Secret = Secret(password)
	}
	conn := newNetConn(p.db.options.Control, p.db.options.ResultBytesMax+protocolBytes)
	t.Dial = conn.dial
	within, cancel := context.WithTimeout(ctx, p.db.options.ConnectMax)
	defer cancel()
	stop := context.AfterFunc(within, conn.cut)
	raw, err := p.connect(within, t)
	inTime := stop()
	if err != nil {
		conn.cut()
		if ctx.Err() != nil {
			return nil, callEnded()
		}
		return nil, p.connectError(err, t.Secret)
	}
	conn.setReady()
	now := p.db.options.Clock.ElapsedMax()
	s := &session{pool: p, raw: raw, conn: conn, opened: now, lastUsed: now}
	if !inTime {
		p.db.background(s.close)
		return nil, callEnded()
	}
	return s, nil
}

// connect is the driver's Connect, with its panics as errors; see session.protect.
func (p *pool) connect(ctx context.Context, t Target) (raw Session, err error) {
	if t.File == "" {
		defer func() {
			if r := recover(); r != nil {
				err = malformed(r)
			}
		}()
	}
	return p.driver.Connect(ctx, t)
}

// put returns a session to the pool. It doesn't wait: the session is reset in the
// background before another call gets it, or closed.
func (p *pool) put(s *session) {
	p.mu.Lock()
	p.resetting++
	p.mu.Unlock()
	p.db.background(func(ctx context.Context) {
		err := s.reset(ctx)
		if err != nil || s.unusable {
			s.close(ctx)
			s = nil
		}
		p.mu.Lock()
		p.resetting--
		if s != nil && !p.closed {
			s.lastUsed = p.db.options.Clock.ElapsedMax()
			p.idle = append(p.idle, s)
			s = nil
			p.sweepLater()
		}
		close(p.returned)
		p.returned = make(chan struct{})
		p.mu.Unlock()
		if s != nil {
			s.close(ctx)
		}
		<-p.slots
	})
}

// sweepLater schedules a sweep. The pool is locked.
func (p *pool) sweepLater() {
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.db.options.IdleMax, p.sweepIdle)
	}
}

// sweepIdle closes the sessions that have been idle for too long.
func (p *pool) sweepIdle() {
	now := p.db.options.Clock.ElapsedMax()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep = nil
	old := 0
	for old < len(p.idle) && now-p.idle[old].lastUsed >= p.db.options.IdleMax {
		p.db.background(p.idle[old].close)
		old++
	}
	p.idle = append(p.idle[:0:0], p.idle[old:]...)
	if len(p.idle) > 0 && !p.closed {
		p.sweepLater()
	}
}

// close closes the idle sessions, and each other one when it is returned.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	for _, s := range p.idle {
		p.db.background(s.close)
	}
	p.idle = nil
}
