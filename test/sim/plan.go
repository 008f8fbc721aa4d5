package sim

import (
	"math/rand/v2"
	"time"
)

// plan is what a seed decides before anything happens.
type plan struct {
	processCount int
	names        int
	calls        int // of each caller
	guard        time.Duration
	network      network
	profiles     []clockProfile // of machines, to choose from
	crashes      bool
	leases       leases
}

// network is the quality of a network.
type network struct {
	name    string
	latency time.Duration // of one way, on average
	faults  float64       // the share of requests that have a fault
	late    time.Duration // how long a late request takes at most
}

// clockProfile is how a machine's clocks behave.
type clockProfile int

const (
	steady   clockProfile = iota // wrong, but undisturbed
	unstable                     // wall clock set forward and back, suspended, frozen
	stopping                     // both clocks stop while no call is made and no lock held
)

func (t clockProfile) String() string { return [...]string{"steady", "unstable", "stopping"}[t] }

func newPlan(rnd *rand.Rand) plan {
	p := plan{
		processCount: 2 + rnd.IntN(7),
		names:        1 + rnd.IntN(3),
		calls:        3 + rnd.IntN(6),
		guard:        pick(rnd, time.Second, 2*time.Second, 2*time.Second, 3*time.Second),
		network: pick(rnd,
			network{"good", between(rnd, time.Millisecond, 60*time.Millisecond), 0, 0},
			network{"fair", between(rnd, time.Millisecond, 200*time.Millisecond), 0.1, 3 * time.Second},
			network{"fair", between(rnd, time.Millisecond, 50*time.Millisecond), 0.2, 3 * time.Second},
			network{"bad", between(rnd, 5*time.Millisecond, 500*time.Millisecond), 0.4, 30 * time.Second},
		),
		profiles: pick(rnd,
			[]clockProfile{steady},
			[]clockProfile{unstable},
			[]clockProfile{steady, unstable},
			[]clockProfile{steady, stopping},
			[]clockProfile{steady, unstable, stopping},
		),
		crashes: rnd.IntN(3) == 0,
		leases:  drawLeases(rnd),
	}
	if p.leases == short {
		p.names = 1
		p.network = network{"nearby", between(rnd, time.Millisecond, 20*time.Millisecond), 0.4, 2 * time.Second}
	}
	return p
}

// leases is how long leases are.
type leases int

const (
	mixed leases = iota // most of seconds, some of milliseconds, a few of up to an hour
	short               // all shorter than many a request takes, by turn with a short poll
	long                // all of up to an hour
)

func drawLeases(rnd *rand.Rand) leases {
	switch n := rnd.IntN(60); {
	case n == 0:
		return long
	case n < 15:
		return short
	}
	return mixed
}

// lease draws the length of a lease.
func (p plan) lease(rnd *rand.Rand) time.Duration {
	switch p.leases {
	case short:
		return between(rnd, 20*time.Millisecond, time.Second)
	case long:
		return between(rnd, 20*time.Minute, time.Hour)
	}
	switch n := rnd.IntN(100); {
	case n < 30:
		return between(rnd, 50*time.Millisecond, 2*time.Second)
	case n < 90:
		return between(rnd, time.Second, 15*time.Second)
	case n < 99:
		return between(rnd, 10*time.Second, 2*time.Minute)
	default:
		return between(rnd, time.Minute, time.Hour)
	}
}

// wait draws how long to wait: not at all, a little, for long.
func wait(rnd *rand.Rand) time.Duration {
	switch rnd.IntN(4) {
	case 0:
		return 0
	case 1:
		return between(rnd, time.Millisecond, time.Second)
	default:
		return between(rnd, time.Second, time.Minute)
	}
}

// offset draws how far a wall clock is off: by milliseconds up to days.
func offset(rnd *rand.Rand) time.Duration {
	size := pick(rnd, 0, time.Second, 10*time.Second, time.Minute, time.Hour, 72*time.Hour)
	return between(rnd, -size, size+1)
}

func between(rnd *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rnd.Int64N(int64(to-from)))
}

// around draws a time with this mean.
func around(rnd *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(rnd.ExpFloat64() * float64(mean))
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }
