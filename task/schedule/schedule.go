package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/tidelock-lua/tidelock/tenant"
)

// Schedule starts a script at its due times. The package comment says what is
// guaranteed.
type Schedule struct {
	// Name is unique among the tenant's: 1 to 64 letters, digits, "_", "." and
	// "-", the first of them a letter or digit. It is the name of the lock
	// "native:schedule/NAME" under which it runs.
	Name   string
	Tenant tenant.ID
	// Script is one of the tenant's scripts. Its event is {"schedule": NAME,
	// "planned_at": TIME, "event": Event}.
	Script string
	// Cron says when: five fields ("*/5 8-18 * * MON-FRI"), or "@every" and
	// a duration of whole milliseconds, at least 100 ms ("@every 90s"). The due
	// times of the latter are the multiples of the duration since 1970, in UTC.
	//
	// A fixed local time that the clock leaves out, in spring, is due right after
	// the jump; one that comes twice is due the first time. With a minute or hour
	// that begins with a star, a schedule goes on through an hour that comes twice,
	// as cron does, and with such an hour nothing is due for one that is left out.
	Cron string
	// Zone is the time zone of Cron, a name of the IANA database. The default is
	// UTC.
	Zone string
	// Overlap says what happens to a due time that comes while a run of an earlier
	// one goes on, in any process. The default is [OverlapSkip].
	Overlap Overlap
	// Missed says what happens to due times that passed by more than a minute
	// while no process was there or could reach the store. The default is
	// [MissedOnce].
	Missed Missed
	// Event is JSON, nil for none.
	Event json.RawMessage
}

// Overlap says what happens to a due time whose predecessor still runs.
type Overlap string

// What happens to a due time whose predecessor still runs.
const (
	OverlapSkip  Overlap = "skip"  // it is dropped
	OverlapQueue Overlap = "queue" // it is run afterwards, in order; up to 1000 wait
)

// Missed says what happens to due times that no process could run.
type Missed string

// What happens to due times that no process could run.
const (
	MissedOnce Missed = "once" // one run makes up for all of them
	MissedSkip Missed = "skip" // they are dropped
)

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// withDefaults sets what is not set, and checks what needs no directory.
func (s Schedule) withDefaults() (Schedule, recurrence, error) {
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
	r, err := newRecurrence(s.Cron, s.Zone)
	return s, r, err
}
