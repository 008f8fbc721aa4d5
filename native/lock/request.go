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

// Scope says who excludes each other. Locks of the same name but of different
// scopes have nothing to do with each other.
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

// Request is what one call asks for.
type Request struct {
	Key   Key
	Scope Scope
	// Started is when asking began; zero is now.
	Started clock.Reading
	// Lease is how long the lock may be held: from [MinLease] up to
	// [Options.MaxLease]. Fractions of a millisecond are cut for the holder,
	// and rounded up for the row.
	Lease time.Duration
	// Wait is how long to wait for a lock that somebody holds; 0 asks once. A
	// wait never goes on past the lease, which counts from the beginning.
	Wait time.Duration
	// Turn waits for as long as the context lasts instead of Wait, and counts
	// the lease from the attempt that succeeds.
	Turn bool
	// Poll is, for Turn, how often to look again at a lock that is held
	// elsewhere; 0 is the growing pause.
	Poll time.Duration
	// By says who asks.
	By Holder
	// Held is the set of locks of the run that asks; nil if it asks once only.
	Held *Held
	// Spend is called before each put; its error, for a budget that is used
	// up, ends the asking. nil: no budget.
	Spend func() error
	// Warn is told what the author of the script should know; nil: nobody.
	Warn func(text string)
	// HostEnd is the fast hand's reading at which the host ends, so that a
	// release has to be over; 0 if it doesn't.
	HostEnd time.Duration
}

func (r *Request) lock() heldLock { return heldLock{r.Key, r.Scope} }

func (r Request) runFor() time.Duration { return r.Lease.Truncate(time.Millisecond) }

func (r Request) waitEnd(asked time.Duration) time.Duration {
	if r.Turn {
		return math.MaxInt64
	}
	return asked + min(r.Wait.Truncate(time.Millisecond), r.runFor())
}

func (r Request) once() bool { return !r.Turn && r.Wait < time.Millisecond }

func (r Request) spend() error {
	if r.Spend == nil {
		return nil
	}
	return r.Spend()
}

func (r Request) warn(text string) {
	if r.Warn != nil {
		r.Warn(text)
	}
}

func (r Request) check(maxLease time.Duration) error {
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
