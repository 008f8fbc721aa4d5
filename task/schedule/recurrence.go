package schedule

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// recurrence knows the due times of a schedule.
type recurrence interface {
	// next is the first due time after t; zero if there is none for years.
	next(t time.Time) time.Time
}

// everyMin is the shortest "@every".
const everyMin = 100 * time.Millisecond

func newRecurrence(expr, zone string) (recurrence, error) {
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

// cronFields is the language that all implementations of cron share.
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

// cron recurs in local time: gronx finds the local times, as if all days had 24
// hours, and instant says when those are.
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
		// A local time that comes twice may be due before t.
		if at := instant(local, c.loc); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// cronTries is how many local times may lie in an hour that comes twice, or in
// a day that does, and more.
const cronTries = 2 * 24 * 60

// naive is what a wall clock shows, as if it were in UTC.
func naive(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when a wall clock of loc first shows local; if it never does, when
// it jumps over it.
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
