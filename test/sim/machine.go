package sim

import (
	"math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// rateMax is how many millionths an oscillator may be off from the table's: the
// 1/2000 that the protocol allows for, less what the table's own clock and the
// slewing of ours take.
const rateMax = 480

// tableRateMax is the same for the table's clock, from true time.
const tableRateMax = 20

// slewMax is how many millionths the wall clock's rate may differ from the
// monotonic clock's: a time daemon slews it.
const slewMax = 300

// machine has the two clocks that its processes read.
type machine struct {
	sim     *simulation
	profile clockProfile

	at                       time.Duration // true time at which the clocks showed what follows
	wall, mono               time.Duration
	wallRate, monoRate       int64 // by how many millionths they are fast
	wallStopped, monoStopped bool
}

func newMachine(sim *simulation) *machine {
	rnd := sim.rnd
	m := &machine{sim: sim, profile: pick(rnd, sim.profiles...)}
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

// advance brings both clocks up to the present.
func (m *machine) advance() {
	d := m.sim.now - m.at
	m.at = m.sim.now
	if !m.wallStopped {
		m.wall += rated(d, m.wallRate)
	}
	if !m.monoStopped {
		m.mono += rated(d, m.monoRate)
	}
}

// rated is what a clock shows after d of true time.
func rated(d time.Duration, rate int64) time.Duration {
	return d + time.Duration(int64(d)*rate/1_000_000)
}

func (m *machine) read() clock.Instant {
	m.advance()
	return clock.Instant{Wall: simulationStart.Add(m.wall), Mono: m.mono}
}

func (m *machine) monotonic() time.Duration {
	m.advance()
	return m.mono
}

// set moves the wall clock.
func (m *machine) set(by time.Duration) {
	m.advance()
	m.wall += by
}

// stopClocks stops the clocks, or lets them go on.
func (m *machine) stopClocks(wall, mono bool) {
	m.advance()
	m.wallStopped, m.monoStopped = wall, mono
}

// disturb disturbs the machine of p from time to time, as its profile says.
func (p *process) disturb() {
	sim := p.sim
	if p.dead || sim.over() {
		return
	}
	if sim.now >= p.stalledUntil {
		// A process reads its clocks between two disturbances: what both of them
		// miss between two readings is outside of what is promised.
		p.clock.Read()
		switch p.machine.profile {
		case unstable:
			p.perturb()
		case stopping:
			if !p.inCall() {
				p.stall("stop", 10*time.Second+around(sim.rnd, 30*time.Second), true, true)
			}
		}
	}
	sim.after(between(sim.rnd, time.Millisecond, 20*time.Second), p.disturb)
}

// perturb sets, suspends, freezes or slews.
func (p *process) perturb() {
	rnd := p.sim.rnd
	length := pick(rnd, 20*time.Millisecond, time.Second, 5*time.Second, time.Minute)
	switch rnd.IntN(5) {
	case 0, 1:
		by := pick[time.Duration](rnd, -1, 1) * around(rnd, pick(rnd, length, time.Hour))
		p.sim.logf("p%d wall clock set by %v", p.id, by)
		p.machine.set(by)
	case 2:
		p.stall("suspend", around(rnd, length), false, true)
	case 3:
		p.stall("freeze", around(rnd, length), false, false)
	case 4:
		p.machine.advance()
		p.machine.wallRate = clamp(p.machine.monoRate+slew(rnd), rateMax)
	}
}

// stall keeps p from doing anything for d, while the clocks that are true are
// stopped.
func (p *process) stall(how string, d time.Duration, wall, mono bool) {
	sim := p.sim
	sim.logf("p%d %s for %v", p.id, how, d)
	p.stalledUntil = sim.now + d
	p.machine.stopClocks(wall, mono)
	sim.at(p.stalledUntil, func() {
		p.machine.stopClocks(false, false)
		p.stalled += d
		if wall && mono {
			p.clocksStopped += d
		}
	})
}
