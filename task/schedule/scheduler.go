package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Host is what a scheduler needs of the host that runs the scripts.
type Host interface {
	// Slot waits for a slot for a script, in the tenant's turn. ok is false if
	// ctx has ended or the host stops.
	Slot(ctx context.Context, id tenant.ID, script string) (slot Slot, ok bool)
}

// Slot is a slot of the host's, in which one script can be run. It ends with
// Run or Release.
type Slot interface {
	// Reserve makes the host wait for the run that is about to begin, should it
	// be told to stop. The context ends when the host cancels its runs. ok is
	// false if the host accepts no more runs.
	Reserve() (ctx context.Context, ok bool)
	// Run runs a script after Reserve, on behalf of the schedule of that name,
	// and waits for its result. failed is the result if it can't be run. It
	// returns false if the run didn't come back and may go on.
	Run(name string, work *runtime.Invocation, failed *runtime.Error) (returned bool)
	// Release gives the slot back without a run.
	Release()
}

// Config is what a scheduler is made from. All but the last fields are required
// if there are schedules.
type Config struct {
	Host      Host
	Schedules []Schedule
	// Tenants are those of the schedules.
	Tenants runtime.Directory
	Clock   *clock.Dual
	// Locks are those under which schedules run, Table has their rows.
	Locks *lock.Locks
	Table locktable.Table
	// Store keeps the cursors.
	Store db.Store
	Log   *zap.Logger
	// HostName and Process name the holder in the rows of locks.
	HostName, Process string
	// Dropped is called when so many due times of a schedule are not run. nil
	// disables it.
	Dropped func(id tenant.ID, schedule string, times int)
}

// Scheduler runs the schedules of a host.
type Scheduler struct {
	config  Config
	running sync.WaitGroup

	mu    sync.Mutex // guards what follows
	ctx   context.Context
	loops map[lock.Key]*loop
}

// New makes a scheduler. It is an error if a schedule is not valid.
func New(c Config) (*Scheduler, error) {
	loops, err := newLoops(c)
	if err != nil {
		return nil, err
	}
	return &Scheduler{config: c, loops: loops}, nil
}

func newLoops(c Config) (map[lock.Key]*loop, error) {
	loops := map[lock.Key]*loop{}
	for _, one := range c.Schedules {
		l, err := newLoop(&c, one)
		if err != nil {
			return nil, err
		}
		if loops[l.lock] != nil {
			return nil, fmt.Errorf("schedule %s of tenant %s: there are two of that name", l.Name, l.Tenant)
		}
		loops[l.lock] = l
	}
	return loops, nil
}

// Start runs what is due, until ctx ends. What has begun then is finished.
func (s *Scheduler) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, l := range s.loops {
		s.start(l)
	}
}

// start starts a loop, unless the scheduler isn't started or has been stopped.
func (s *Scheduler) start(l *loop) {
	if s.ctx == nil || s.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	l.stop = stop
	s.running.Go(func() { l.run(ctx) })
}

// Reload checks new schedules and tenants. commit replaces the current ones. Runs
// that have begun are finished, and a schedule that is the same as before goes on
// undisturbed.
func (s *Scheduler) Reload(schedules []Schedule, tenants runtime.Directory) (commit func(), err error) {
	c := s.config
	c.Schedules, c.Tenants = schedules, tenants
	next, err := newLoops(c)
	if err != nil {
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for key, old := range s.loops {
			if l := next[key]; l != nil {
				l.since = old.since
				if l.document.key != old.document.key { // another recurrence begins now
					l.since = time.Now()
				}
			}
			if old.stop != nil {
				old.stop()
			}
		}
		s.loops = next
		for _, l := range next {
			s.start(l)
		}
	}, nil
}

// Wait waits until nothing goes on any more, after the context of Start has
// ended.
func (s *Scheduler) Wait() {
	s.mu.Lock() // so that no reload starts a loop while this waits
	defer s.mu.Unlock()
	s.running.Wait()
}

func newLoop(c *Config, one Schedule) (*loop, error) {
	s, r, err := one.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("schedule %.80q of tenant %s: %w", one.Name, one.Tenant, err)
	}
	inv, failed := c.Tenants.Resolve(string(s.Tenant), s.Script, s.Event)
	if failed != nil {
		return nil, fmt.Errorf("schedule %s of tenant %s: %s", s.Name, s.Tenant, failed.Message)
	}
	s.Script = inv.Script
	// Another recurrence is another schedule: it has a cursor of its own.
	sum := sha256.Sum256([]byte(s.Cron + "\n" + s.Zone))
	return &loop{
		Schedule: s, config: c, recurrence: r, since: time.Now(), timeout: inv.Limits.WithDefaults().Timeout,
		lock: lock.Key{Tenant: s.Tenant, Name: lockPrefix + s.Name},
		document: cursorDocument{
			partition: db.New(c.Store, c.Clock, nil).Reserved(s.Tenant, partitionName),
			key:       s.Name + "/" + hex.EncodeToString(sum[:8]),
		},
	}, nil
}

// lockPrefix is how the names of the locks of schedules begin.
const lockPrefix = "native:schedule/"
