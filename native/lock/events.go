package lock

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Events tells a host what happens, for its log and its metrics. Fields may
// be nil. They are called by the goroutine that asks or releases, and have to
// return soon.
type Events struct {
	// Attempted: one put was sent and came back.
	Attempted func(Key, outcome.Outcome)
	// AmbiguityResolved: the fate of a request whose answer had been lost turned out to
	// be that it was applied.
	AmbiguityResolved func(Key)
	// Acquire: a call has asked for a lock, and has acquired it or not.
	Acquire func(AcquireEvent)
	// Release: a lease was given up.
	Release func(ReleaseEvent)
}

// AcquireEvent describes the end of one call's asking.
type AcquireEvent struct {
	Key    Key
	Scope  Scope
	By     Holder
	Waited time.Duration
	// Acquired says whether the call holds the lock now.
	Acquired bool
}

// ReleaseEvent describes the end of one lease.
type ReleaseEvent struct {
	Key   Key
	Scope Scope
	By    Holder
	// Held is how long the lock was held, up to the moment at which the
	// holder gave it up. Lease is how long it might have been.
	Held, Lease time.Duration
	// Overrun is how long after the end of the lease that was; 0 if it came in
	// time. It is the lag with which holders are stopped.
	Overrun time.Duration
	Result  ReleaseResult
	// Err is why How is [Failed].
	Err error
}

func (e Events) attempted(key Key, o outcome.Outcome) {
	if e.Attempted != nil {
		e.Attempted(key, o)
	}
}

func (e Events) healed(key Key) {
	if e.AmbiguityResolved != nil {
		e.AmbiguityResolved(key)
	}
}

func (e Events) released(r ReleaseEvent) {
	if e.Release != nil {
		e.Release(r)
	}
}

func (e Events) asked(a AcquireEvent) {
	if e.Acquire != nil {
		e.Acquire(a)
	}
}

// JoinEvents returns events that tell several.
func JoinEvents(all ...Events) Events {
	return Events{
		Attempted: func(k Key, o outcome.Outcome) {
			for _, e := range all {
				e.attempted(k, o)
			}
		},
		AmbiguityResolved: func(k Key) {
			for _, e := range all {
				e.healed(k)
			}
		},
		Acquire: func(a AcquireEvent) {
			for _, e := range all {
				e.asked(a)
			}
		},
		Release: func(r ReleaseEvent) {
			for _, e := range all {
				e.released(r)
			}
		},
	}
}
