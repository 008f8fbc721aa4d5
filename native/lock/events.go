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
	// Asked: a call has asked for a lock, and has acquired it or not.
	Asked func(Asked)
	// Released: a lease was given up.
	Released func(Released)
}

// Asked describes the end of one call's asking.
type Asked struct {
	Key    Key
	Scope  Scope
	By     Holder
	Waited time.Duration
	// Acquired says whether the call holds the lock now.
	Acquired bool
}

// Released describes the end of one lease.
type Released struct {
	Key   Key
	Scope Scope
	By    Holder
	// Held is how long the lock was held, up to the moment at which the
	// holder gave it up. Lease is how long it might have been.
	Held, Lease time.Duration
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

func (e Events) asked(a Asked) {
	if e.Asked != nil {
		e.Asked(a)
	}
}

// JoinEvents returns events that tell several.
func JoinEvents(all ...Events) Events {
	return Events{
		Attempted: func(k Key, o native.Outcome) {
			for _, e := range all {
				e.attempted(k, o)
			}
		},
		Healed: func(k Key) {
			for _, e := range all {
				e.healed(k)
			}
		},
		Asked: func(a Asked) {
			for _, e := range all {
				e.asked(a)
			}
		},
		Released: func(r Released) {
			for _, e := range all {
				e.released(r)
			}
		},
	}
}
