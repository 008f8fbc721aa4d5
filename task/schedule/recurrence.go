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
	c := newCron(upper, loc)
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

// cron recurs in local time. Between two changes of its zone's offset local time
// runs as any time does, and gronx finds the due times in it. What happens at a
// change is decided here.
type cron struct {
	expr string
	loc  *time.Location
	// everyTime is set if the minute or the hour begins with a star: such a
	// schedule goes on through a repeated hour, and one that is left out is none
	// of its times. Otherwise its times are fixed: each comes once a day.
	everyTime bool
	// fixedHour is set if the hour doesn't begin with a star: what is left out of
	// it is due once, right after the jump.
	fixedHour bool
}

func newCron(expr string, loc *time.Location) cron {
	fields := strings.Fields(expr)
	anyMinute, anyHour := strings.HasPrefix(fields[0], "*"), strings.HasPrefix(fields[1], "*")
	return cron{expr: expr, loc: loc, everyTime: anyMinute || anyHour, fixedHour: !anyHour}
}

// offsetsMax is how many stretches between changes of an offset are searched:
// more than a zone has in the years that gronx looks ahead.
const offsetsMax = 200

func (c cron) next(t time.Time) time.Time {
	from := naive(t.In(c.loc)) // local times up to here are over
	for range offsetsMax {
		start, end := t.In(c.loc).ZoneBounds()
		if !c.everyTime && !start.IsZero() {
			// What was shown before the change isn't due again.
			if shown := localEnd(start, c.loc).Add(-time.Second); from.Before(shown) {
				from = shown
			}
		}
		local, err := gronx.NextTickAfter(c.expr, from, false)
		if err != nil {
			return time.Time{}
		}
		_, offset := t.In(c.loc).Zone()
		at := local.Add(-time.Duration(offset) * time.Second).In(c.loc)
		if end.IsZero() || at.Before(end) {
			return at
		}
		t, from = end, naive(end.In(c.loc)).Add(-time.Second)
		if c.fixedHour && local.Before(from) { // left out
			return end.In(c.loc)
		}
	}
	return time.Time{}
}

// localEnd is what a wall clock of loc would show at a change if that didn't
// come.
func localEnd(change time.Time, loc *time.Location) time.Time {
	before := change.Add(-time.Nanosecond).In(loc)
	return naive(before).Add(time.Nanosecond)
}

// naive is what a wall clock shows, as if it were in UTC.
func naive(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
