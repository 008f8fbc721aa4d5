package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Schedule starts a script by the clock. Any number of processes may have it:
// each of its planned times begins at most one run among all that share a
// store, and exactly one as long as one of them lives and can reach the store.
//
// A run that has begun isn't repeated: if its process dies, it is lost. One
// that hasn't, because its process died between taking the lock and beginning,
// is taken over by another process once the lock has run out, which is the
// script's time limit, 5 s, and the guard later.
//
// Planned times are read from the wall clock of each machine; one whose clock
// is ahead is early.
type Schedule struct {
	// Name is unique among the tenant's: 1 to 64 letters, digits, "_", "." and
	// "-", the first of them a letter or digit. It is the name of the lock
	// "native:schedule/NAME" under which it runs.
	Name   string
	Tenant tenant.ID
	// Script is one of the tenant's. Its event is {"schedule": NAME,
	// "planned_at": TIME, "event": Event}.
	Script string
	// Cron is when: five fields ("*/5 8-18 * * MON-FRI"), or "@every" and
	// a duration of whole milliseconds, at least 100 ms ("@every 90s"). The
	// planned times of the latter are the multiples of the duration since 1970,
	// in UTC.
	//
	// A local time that the clock leaves out, in spring, is planned right after
	// the jump; one that comes twice is planned once, the first time.
	Cron string
	// Zone is the time zone of Cron, a name of the IANA database. Default UTC.
	Zone string
	// Overlap is what becomes of a planned time that comes while a run of an
	// earlier one goes on, in any process. Default [OverlapSkip].
	Overlap Overlap
	// Missed is what becomes of planned times that passed by more than a minute
	// while no process was there or could reach the store. Default
	// [MissedOnce].
	Missed Missed
	// Event is JSON, nil for none.
	Event json.RawMessage
}

// Overlap is what becomes of a planned time whose predecessor still runs.
type Overlap string

// What becomes of a planned time whose predecessor still runs.
const (
	OverlapSkip  Overlap = "skip"  // it is dropped
	OverlapQueue Overlap = "queue" // it is run afterwards, in order; up to 1000 wait
)

// Missed is what becomes of planned times at which nobody was there.
type Missed string

// What becomes of planned times at which nobody was there.
const (
	MissedOnce Missed = "once" // one run makes up for all of them
	MissedSkip Missed = "skip" // they are dropped
)

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// withDefaults sets what is not set, and checks what can be checked without a
// host.
func (s Schedule) withDefaults() (Schedule, plan, error) {
	if s.Overlap == "" {
		s.Overlap = OverlapSkip
	}
	if s.Missed == "" {
		s.Missed = MissedOnce
	}
	if s.Zone == "" {
		s.Zone = "UTC"
	}
	switch {
	case !scheduleName.MatchString(s.Name):
		return s, nil, errors.New("name: want 1 to 64 of letters, digits, _ . and -, first a letter or digit")
	case s.Overlap != OverlapSkip && s.Overlap != OverlapQueue:
		return s, nil, fmt.Errorf("overlap %.40q: want skip or queue", string(s.Overlap))
	case s.Missed != MissedOnce && s.Missed != MissedSkip:
		return s, nil, fmt.Errorf("missed %.40q: want once or skip", string(s.Missed))
	case s.Zone == "Local":
		return s, nil, errors.New(`zone "Local": want a name, because machines differ`)
	}
	p, err := newPlan(s.Cron, s.Zone)
	return s, p, err
}

// plan knows the planned times of a schedule.
type plan interface {
	// next is the first planned time after t; zero if there is none for years.
	next(t time.Time) time.Time
}

// everyMin is the shortest "@every".
const everyMin = 100 * time.Millisecond

func newPlan(expr, zone string) (plan, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	if text, ok := strings.CutPrefix(expr, "@every "); ok {
		d, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || d < everyMin || d%time.Millisecond != 0 {
			return nil, fmt.Errorf("cron %.80q: want @every and whole milliseconds, %v or more", expr, everyMin)
		}
		return every(d.Milliseconds()), nil
	}
	fields := strings.Fields(expr)
	upper := strings.ToUpper(strings.Join(fields, " "))
	if len(fields) != 5 || !cronFields.MatchString(upper) || !gronx.IsValid(upper) {
		return nil, fmt.Errorf("cron %.80q: want the five fields minute, hour, day, month, weekday, or @every and a duration", expr)
	}
	c := cron{upper, loc}
	if c.next(time.Now()).IsZero() {
		return nil, fmt.Errorf("cron %.80q: such a day never comes", expr)
	}
	return c, nil
}

// cronFields is the plain language of cron, without what only some programs
// understand.
var cronFields = func() *regexp.Regexp {
	const one = `(\*|[0-9]{1,2}|[A-Z]{3})(-([0-9]{1,2}|[A-Z]{3}))?(/[0-9]{1,2})?`
	const list = one + `(,` + one + `)*`
	return regexp.MustCompile(`^` + list + `( ` + list + `){4}$`)
}()

// every is a period in milliseconds.
type every int64

func (e every) next(t time.Time) time.Time {
	return time.UnixMilli((t.UnixMilli()/int64(e) + 1) * int64(e))
}

// cron plans in local time: gronx finds the local times, as if its days had 24
// hours, and local says when those are.
type cron struct {
	expr string
	loc  *time.Location
}

func (c cron) next(t time.Time) time.Time {
	local := naive(t.In(c.loc))
	for range cronTries {
		var err error
		if local, err = gronx.NextTickAfter(c.expr, local, false); err != nil {
			return time.Time{}
		}
		// A local time that comes twice may be planned before t.
		if at := instant(local, c.loc); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// cronTries is how many local times may lie in an hour that comes twice, or in
// a day that does, and more.
const cronTries = 2 * 24 * 60

// naive is what a clock on the wall shows, as if it were UTC.
func naive(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when a clock on the wall of loc first shows local; if it never
// does, when it jumps over it.
func instant(local time.Time, loc *time.Location) time.Time {
	// No zone is further than a day from UTC, so these are the offsets before
	// and after a change that is near.
	const near = 36 * time.Hour
	before, after := local.Add(-near).In(loc), local.Add(near).In(loc)
	_, early := before.Zone()
	_, late := after.Zone()
	first := local.Add(-time.Duration(max(early, late)) * time.Second).In(loc)
	last := local.Add(-time.Duration(min(early, late)) * time.Second).In(loc)
	switch {
	case naive(first).Equal(local):
		return first
	case naive(last).Equal(local):
		return last
	}
	jump, _ := last.ZoneBounds()
	return jump
}
