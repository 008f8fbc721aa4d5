package lock

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	// MinLease is the shortest lease.
	MinLease = time.Millisecond
	// NameMax is how many bytes the name of a lock may have.
	NameMax = 512
)

// Scope is the set of callers that exclude each other. Locks of the same name
// but of different scopes have nothing to do with each other.
type Scope int

const (
	// DB: all processes that share the table.
	DB Scope = iota
	// Local: the callers of this process.
	Local
)

// String returns the scope as scripts write it: "db" or "local".
func (s Scope) String() string {
	if s == Local {
		return "local"
	}
	return "db"
}

// Request describes the lock that one call wants.
type Request struct {
	Key   Key
	Scope Scope
	// Started is when the call began. The default is now.
	Started clock.Reading
	// Lease is how long the lock may be held: from [MinLease] up to
	// [Options.MaxLease]. Fractions of a millisecond are cut for the holder,
	// and rounded up for the row.
	Lease time.Duration
	// Wait is how long to wait for a lock that is held; 0 makes one attempt. A
	// wait ends with the lease, which counts from Started.
	Wait time.Duration
	// Turn waits for as long as the context lasts instead of Wait, and counts
	// the lease from the attempt that succeeds.
	Turn bool
	// Poll is the longest pause between two attempts; the shortest is half of
	// it. The default is a pause that grows from 25 ms at most to 1 s at most.
	Poll time.Duration
	// By describes the caller.
	By Holder
	// Held is the set of locks of the caller's run. nil is for a caller that
	// holds one lock at a time.
	Held *Held
	// Spend is called before each put; its error, for a budget that is used
	// up, ends the call. nil is an unlimited budget.
	Spend func() error
	// Warn is told what the author of the script should know. nil disables it.
	Warn func(text string)
	// HostEnd is the reading of ElapsedMax at which the host ends, so that a
	// release has to be over. 0 is a host that doesn't end.
	HostEnd time.Duration
}

func (r *Request) id() lockID { return lockID{r.Key, r.Scope} }

// holderLease is how long the holder may run.
func (r *Request) holderLease() time.Duration { return r.Lease.Truncate(time.Millisecond) }

// waitEnd is when the wait of a call ends that began at started, both on
// ElapsedMax.
func (r *Request) waitEnd(started time.Duration) time.Duration {
	if r.Turn {
		return math.MaxInt64
	}
	return started + min(r.Wait.Truncate(time.Millisecond), r.holderLease())
}

// noWait reports whether the call makes one attempt only.
func (r *Request) noWait() bool { return !r.Turn && r.Wait < time.Millisecond }

func (r *Request) spend() error {
	if r.Spend == nil {
		return nil
	}
	return r.Spend()
}

func (r *Request) warn(text string) {
	if r.Warn != nil {
		r.Warn(text)
	}
}

func (r *Request) check(maxLease time.Duration) error {
	switch name := r.Key.Name; {
	case name == "" || len(name) > NameMax || !utf8.ValidString(name):
		return fmt.Errorf("lock name %.64q: want valid UTF-8 of 1 to %d bytes", name, NameMax)
	case r.Lease < MinLease || r.Lease > maxLease:
		return fmt.Errorf("lease %v: want %v to %v", r.Lease, MinLease, maxLease)
	case r.Wait < 0 || r.Poll < 0:
		return fmt.Errorf("wait %v, poll %v: want 0 or more", r.Wait, r.Poll)
	}
	return nil
}
