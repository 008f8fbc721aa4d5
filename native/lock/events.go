package lock

import (
	"time"

	"github.com/tidelock-lua/tidelock/native"
)

// Events tells a host what happens, for its log and its metrics. Fields may
// be nil. They are called by the goroutine that asks or releases, and have to
// return soon.
type Events struct {
	// Attempted: one put was sent and came back.
	Attempted func(Key, native.Outcome)
	// Healed: the fate of a request whose answer had been lost turned out to
	// be that it was applied.
	Healed func(Key)
	// Asked: a call has waited for so long, and has acquired the lock or not.
	Asked func(key Key, scope Scope, waited time.Duration, acquired bool)
	// Released: a lease was given up.
	Released func(Released)
}

// Released describes the end of one lease.
type Released struct {
	Key   Key
	Scope Scope
	By    Holder
	// Held is how long the lock was held, up to the moment at which the
	// holder gave it up.
	Held time.Duration
	// Over is how long after the end of the lease that was; 0 if it came in
	// time. It is the lag with which holders are stopped.
	Over time.Duration
	How  Freeing
	// Err is why How is [Failed].
	Err error
}

func (e Events) attempted(key Key, o native.Outcome) {
	if e.Attempted != nil {
		e.Attempted(key, o)
	}
}

func (e Events) healed(key Key) {
	if e.Healed != nil {
		e.Healed(key)
	}
}

func (e Events) released(r Released) {
	if e.Released != nil {
		e.Released(r)
	}
}
