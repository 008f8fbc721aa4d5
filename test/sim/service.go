package sim

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// simulationStart is the true time at which every simulation begins.
var simulationStart = time.Date(2025, 3, 9, 11, 0, 0, 0, time.UTC)

// dateSpread is how far the clocks of the service's machines, which date its
// answers, may differ from the table's.
const dateSpread = 240 * time.Millisecond

// service keeps the rows of locks, and the counters that they guard.
type service struct {
	sim      *simulation
	rate     int64 // millionths
	rows     map[lock.Key]storedRow
	counters map[lock.Key]int
}

// storedRow is a row, and what only the simulation knows about it.
type storedRow struct {
	lock.Row
	put putInfo
}

// putInfo is what the simulation knows about a put when it is sent.
type putInfo struct {
	sent    time.Duration // true time
	from    time.Duration // true time from which its lease counts
	lease   time.Duration // of the row, without guard
	process *process
}

func newService(sim *simulation) *service {
	return &service{
		sim: sim, rate: sim.rnd.Int64N(2*tableRateMax+1) - tableRateMax,
		rows: make(map[lock.Key]storedRow), counters: make(map[lock.Key]int),
	}
}

func (s *service) clock() time.Time { return simulationStart.Add(rated(s.sim.now, s.rate)) }

// date is the Date of an answer that is made now.
func (s *service) date() time.Time {
	return s.clock().Add(between(s.sim.rnd, -dateSpread, dateSpread)).Truncate(time.Second)
}

func (s *service) putLock(row lock.Row, now lock.UnixMilli, p putInfo) (outcome.Outcome, *lock.Row) {
	old, there := s.rows[row.Key]
	if there && old.Until > now {
		s.checkBlocking(old, p)
		return outcome.Refused, &old.Row
	}
	s.rows[row.Key] = storedRow{row, p}
	return outcome.Applied, nil
}

func (s *service) deleteLock(key lock.Key, owner string) (outcome.Outcome, *lock.Row) {
	old, there := s.rows[key]
	switch {
	case !there:
		return outcome.Refused, nil
	case old.Owner != owner:
		return outcome.Refused, &old.Row
	}
	delete(s.rows, key)
	return outcome.Applied, nil
}

func (s *service) get(key lock.Key) int { return s.counters[key] }

// set replaces a counter that h read as read. No other holder may have replaced
// it meanwhile: that is what the lock is for.
func (s *service) set(h *holder, read int) {
	if current := s.counters[h.key]; current != read {
		s.sim.violated(exclusion, "lost update of %s: h%d read %d, but replaces %d", h.key.Name, h.id, read, current)
	}
	s.counters[h.key] = read + 1
}
