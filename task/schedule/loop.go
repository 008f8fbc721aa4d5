package schedule

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// loop runs one schedule:
//
//	sleep until a time is due
//	wait for a slot, like every run
//	acquire the lock native:schedule/NAME, or start again after a pause
//	read the cursor; start again if another process was faster
//	write the cursor: this due time has begun
//	run the script, and release the lock
//
// The write of the cursor decides. The cursor is one document with a revision,
// so of two processes that begin the same due time one is refused, whatever
// their clocks and the lock say. A process that dies before it has written has
// begun nothing: the others see that the due time is not decided, and try until
// the lock has run out. One that dies afterwards has begun it, and no other does
// again.
//
// The lock is for overlaps: while a run goes on, a later due time isn't begun
// anywhere. A lock that is held by the run which began last means exactly that.
// If another run holds it, the cursor is about to be written under it, and the
// others wait for that.
type loop struct {
	Schedule
	config     *Config
	recurrence recurrence
	timeout    time.Duration // of its runs
	document   cursorDocument
	lock       lock.Key
	since      time.Time // since when this process has the schedule
	stop       func()    // ends the loop, nil before it has begun

	logged string // the error that was logged last, so that it isn't repeated
}

const (
	// wallClockPoll is the longest sleep without reading the wall clock, which
	// may be set.
	wallClockPoll = 10 * time.Second

	retryPause    = 50 * time.Millisecond // before the next try; it doubles
	retryPauseMax = time.Second
)

// run runs what is due until ctx ends.
func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := l.document.read(ctx, l.since)
		if err != nil {
			l.logError(ctx, err)
			sleep(ctx, retryPauseMax)
			continue
		}
		l.logged = ""
		t := l.recurrence.next(c.last)
		if t.IsZero() {
			return // none before 2100 or so
		}
		if sleepUntil(ctx, t) {
			l.resolve(ctx, t)
		}
	}
}

// resolve tries until the due time t is decided, by any process.
func (l *loop) resolve(ctx context.Context, t time.Time) {
	pause := retryPause
	for ctx.Err() == nil {
		c, err := l.document.read(ctx, l.since)
		switch {
		case err != nil:
			l.logError(ctx, err)
		case !c.last.Before(t):
			return
		default:
			d := l.decide(l.recurrence, c, time.Now())
			if !d.last.IsZero() && d.run.IsZero() {
				l.drop(ctx, c, d)
				continue
			}
			done, err := l.try(ctx)
			if err != nil {
				l.logError(ctx, err)
			}
			if done {
				return
			}
		}
		sleep(ctx, pause)
		pause = min(2*pause, retryPauseMax)
	}
}

// drop writes that due times are decided without a run. It returns false if
// another process was faster, or it failed.
func (l *loop) drop(ctx context.Context, c cursor, d decision) bool {
	c.last = d.last
	_, ok, err := l.document.write(ctx, c)
	if err != nil {
		l.logError(ctx, err)
	}
	if ok {
		l.logDropped(d)
	}
	return ok
}

// logDropped tells log and metrics what is not run.
func (l *loop) logDropped(d decision) {
	if d.dropped == 0 {
		return
	}
	l.log().Warn("planned times are not run", zap.Int("times", d.dropped), zap.String("reason", d.reason), zap.Time("last", d.last.UTC()))
	if dropped := l.config.Dropped; dropped != nil {
		dropped(l.Tenant, l.Name, d.dropped)
	}
}

// logError logs an error once, until there is none any more.
func (l *loop) logError(ctx context.Context, err error) {
	if text := outcome.Detailed(err).Error(); text != l.logged && ctx.Err() == nil {
		l.logged = text
		l.log().Error("the schedule can't be kept and tries again", zap.Error(outcome.Detailed(err)))
	}
}

func (l *loop) log() *zap.Logger {
	return l.config.Log.With(zap.String("tenantId", string(l.Tenant)), zap.String("schedule", l.Name), zap.String("script", l.Script))
}

// sleepUntil sleeps until the wall clock shows t. It returns false if ctx ends
// before.
func sleepUntil(ctx context.Context, t time.Time) bool {
	for {
		left := t.Sub(time.Now().Round(0)) // without the monotonic clock
		if left <= 0 {
			return ctx.Err() == nil
		}
		if !sleep(ctx, min(left, wallClockPoll)) {
			return false
		}
	}
}

// sleep waits, and returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	return clock.System().Sleep(ctx, d) == nil
}
