package vm

import (
	"sync/atomic"
	"time"
)

// pollIntervalMax is how many steps lie at most between two safepoint polls:
// about 3 µs of Lua, while a poll costs about 0.1 µs.
const pollIntervalMax = 256

// slowInterval is how long a poll interval may take. One that took longer had
// heavy instructions in it (a call with 60,000 arguments, the length of a table
// full of nils), and the next one is shorter.
const slowInterval = time.Millisecond

// meter counts the steps of a run, and when the next safepoint poll is due.
type meter struct {
	left     int32       // steps until the next poll
	granted  int32       // what left was last set to
	held     int32       // of left, until the thread that runs now takes its first step
	interval int32       // steps between two polls, as far as the limit allows
	alarm    atomic.Bool // set by the memory watcher: poll at once
	steps    int64       // that were counted when left was last set
	limit    int64       // of steps; 0 is none
	polledAt time.Duration
}

func newMeter(limit int64, now time.Duration) meter {
	return meter{interval: pollIntervalMax, limit: limit, polledAt: now}
}

// take counts n steps if that takes no poll, and reports whether it has.
func (m *meter) take(n int) bool {
	if n <= int(m.left) && !m.alarm.Load() {
		m.left -= int32(n)
		return true
	}
	return false
}

// exceed counts n steps that take a poll.
func (m *meter) exceed(n int) {
	m.steps += int64(n) - int64(m.left)
	m.left = 0
}

// hold sets the steps until the next poll aside, so that the next step polls.
func (m *meter) hold() {
	if m.held == 0 {
		m.held, m.granted, m.left = m.left, m.granted-m.left, 0
	}
}

// resume restores what hold has set aside, and reports whether there was anything.
func (m *meter) resume() bool {
	if m.held == 0 {
		return false
	}
	m.granted, m.left, m.held = m.granted+m.held, m.left+m.held, 0
	return true
}

// total is how many steps have been taken.
func (m *meter) total() int64 { return m.steps + int64(m.granted-m.left) }

// restart begins the next poll interval. It ends at the limit if that is near.
func (m *meter) restart() {
	m.steps = m.total()
	m.held = 0
	m.granted = m.interval
	if m.limit > 0 {
		m.granted = int32(min(int64(m.interval), max(m.limit-m.steps, 0)))
	}
	m.left = m.granted
}

// stop makes the next step poll.
func (m *meter) stop() {
	m.steps = m.total()
	m.granted, m.left, m.held = 0, 0, 0
}

// polled begins the next interval at a poll that takes place now. The interval
// becomes shorter when the last one was slow.
func (m *meter) polled(now time.Duration) {
	if m.alarm.Load() {
		m.alarm.Store(false)
	}
	if now-m.polledAt > slowInterval {
		m.interval = max(m.interval/16, 1)
	} else {
		m.interval = min(m.interval*4, pollIntervalMax)
	}
	m.restart()
}

// usedUp reports whether all steps up to the limit have been taken.
func (m *meter) usedUp() bool { return m.limit > 0 && m.steps >= m.limit }
