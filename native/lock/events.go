package lock

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Events observes locks for a host's log and metrics. Its functions may be nil.
// They are called by the goroutine that acquires or releases, and have to
// return soon.
type Events struct {
	// Attempted is called after each put, with its outcome.
	Attempted func(Key, outcome.Outcome)
	// AmbiguityResolved is called when a request in doubt, whose answer had been
	// lost, turns out to have been applied.
	AmbiguityResolved func(Key)
	// Acquire is called at the end of each call of [Locks.Acquire] that was
	// valid, whether it has acquired the lock or not.
	Acquire func(AcquireEvent)
	// Release is called when a lease was given up.
	Release func(ReleaseEvent)
}

// AcquireEvent describes the end of one call.
type AcquireEvent struct {
	Key   Key
	Scope Scope
	By    Holder
	// Waited is how long the call took.
	Waited time.Duration
	// Acquired reports whether the caller holds the lock now.
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
	// Overrun is how long after the end of the lease that was; 0 if it was in
	// time. It is the lag with which holders are stopped.
	Overrun time.Duration
	Result  ReleaseResult
	// Err is why Result is [Failed]; otherwise it is nil.
	Err error
}

func (e Events) attempted(key Key, o outcome.Outcome) {
	if e.Attempted != nil {
		e.Attempted(key, o)
	}
}

func (e Events) ambiguityResolved(key Key) {
	if e.AmbiguityResolved != nil {
		e.AmbiguityResolved(key)
	}
}

func (e Events) release(r ReleaseEvent) {
	if e.Release != nil {
		e.Release(r)
	}
}

func (e Events) acquire(a AcquireEvent) {
	if e.Acquire != nil {
		e.Acquire(a)
	}
}

// JoinEvents returns events that call those of all.
func JoinEvents(all ...Events) Events {
	return Events{
		Attempted: func(k Key, o outcome.Outcome) {
			for _, e := range all {
				e.attempted(k, o)
			}
		},
		AmbiguityResolved: func(k Key) {
			for _, e := range all {
				e.ambiguityResolved(k)
			}
		},
		Acquire: func(a AcquireEvent) {
			for _, e := range all {
				e.acquire(a)
			}
		},
		Release: func(r ReleaseEvent) {
			for _, e := range all {
				e.release(r)
			}
		},
	}
}
