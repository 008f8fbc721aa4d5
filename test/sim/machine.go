package sim

import (
	"math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// rateMax is how many millionths an oscillator may be off, against the
// table's: the 1/2000 that the protocol allows for, less what the table's own
// clock and the slewing of ours take.
const rateMax = 480

// tableRateMax is the same for the table's clock, against the truth.
const tableRateMax = 20

// slewMax is how much the wall clock's rate may differ from the monotonic
// clock's: a time daemon steers it.
const slewMax = 300

// machine has the two clocks that its processes go by.
type machine struct {
	world  *world
	temper temper

	at                     time.Duration // true time at which the rest was right
	wall, mono             time.Duration
	wallRate, monoRate     int64 // millionths by which they are too fast
	wallStands, monoStands bool
}

func newMachine(w *world) *machine {
	rnd := w.rnd
	m := &machine{world: w, temper: pick(rnd, w.tempers...)}
	m.wall = offset(rnd)
	m.mono = between(rnd, 0, 1000*time.Hour)
	m.monoRate = pick(rnd, rnd.Int64N(2*rateMax+1)-rateMax, rateMax, -rateMax)
	m.wallRate = clamp(m.monoRate+slew(rnd), rateMax)
	return m
}

func slew(rnd *rand.Rand) int64 {
	if rnd.IntN(2) == 0 {
		return 0
	}
	return rnd.Int64N(2*slewMax+1) - slewMax
}

func clamp(rate, most int64) int64 { return max(min(rate, most), -most) }

// settle brings both clocks to the present.
func (m *machine) settle() {
	d := m.world.now - m.at
	m.at = m.world.now
	if !m.wallStands {
		m.wall += rated(d, m.wallRate)
	}
	if !m.monoStands {
		m.mono += rated(d, m.monoRate)
	}
}

// rated is what a clock shows after d of true time.
func rated(d time.Duration, rate int64) time.Duration {
	return d + time.Duration(int64(d)*rate/1_000_000)
}

func (m *machine) read() clock.Instant {
	m.settle()
	return clock.Instant{Wall: epoch.Add(m.wall), Mono: m.mono}
}

func (m *machine) monotonic() time.Duration {
	m.settle()
	return m.mono
}

// set moves the wall clock.
func (m *machine) set(by time.Duration) {
	m.settle()
	m.wall += by
}

// stand makes clocks stand still, or go on.
func (m *machine) stand(wall, mono bool) {
	m.settle()
	m.wallStands, m.monoStands = wall, mono
}

// disturb lets something befall the machine of p from time to time.
func (p *process) disturb() {
	w := p.world
	if p.dead || w.over() {
		return
	}
	if w.now >= p.stalledUntil {
		// Between two of these a process reads its clocks: what both of them
		// miss between two readings is outside of what is promised.
		p.clock.Read()
		switch p.machine.temper {
		case restless:
			p.unsettle()
		case stopping:
			if !p.asks() {
				p.stall("stop", 10*time.Second+around(w.rnd, 30*time.Second), true, true)
			}
		}
	}
	w.after(between(w.rnd, time.Millisecond, 20*time.Second), p.disturb)
}

func (p *process) unsettle() {
	rnd := p.world.rnd
	length := pick(rnd, 20*time.Millisecond, time.Second, 5*time.Second, time.Minute)
	switch rnd.IntN(5) {
	case 0, 1:
		by := pick[time.Duration](rnd, -1, 1) * around(rnd, pick(rnd, length, time.Hour))
		p.world.logf("p%d wall clock set by %v", p.id, by)
		p.machine.set(by)
	case 2:
		p.stall("suspend", around(rnd, length), false, true)
	case 3:
		p.stall("freeze", around(rnd, length), false, false)
	case 4:
		p.machine.settle()
		p.machine.wallRate = clamp(p.machine.monoRate+slew(rnd), rateMax)
	}
}

// stall keeps p from doing anything for d, while clocks stand still or don't.
func (p *process) stall(how string, d time.Duration, wall, mono bool) {
	w := p.world
	w.logf("p%d %s for %v", p.id, how, d)
	p.stalledUntil = w.now + d
	p.machine.stand(wall, mono)
	w.at(p.stalledUntil, func() {
		p.machine.stand(false, false)
		p.stalled += d
		if wall && mono {
			p.lost += d
		}
	})
}
