package lock

import (
	"math"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

const (
	pauseFirst  = 25 * time.Millisecond
	pauseGrowth = 1.6
	pauseMax    = time.Second
	noLimit     = time.Duration(math.MaxInt64)

	// pauseOwnerChanged is the longest pause while the lock passes from owner to
	// owner. It is shorter than the shortest cooldown of a process's queue, so
	// that no cooldown is slept through.
	pauseOwnerChanged = 300 * time.Millisecond
)

// backoff decides how long an acquisition pauses between two attempts.
type backoff struct {
	time   TableTime
	poll   time.Duration // the pause of [Request.Poll]; 0 is a growing one
	jitter func() float64

	limit        time.Duration // the longest that the next growing pause may be
	blocker      *Row          // refused the last put; nil if none did
	blockedAt    UnixMilli     // the :now of that put
	owner        string        // of the last blocker
	ownerChanged bool          // the blocker before it had another one
}

func newBackoff(t TableTime, poll time.Duration, jitter func() float64) backoff {
	return backoff{time: t, poll: poll, jitter: jitter, limit: pauseFirst}
}

// refused notes that a put with this :now was refused because of row, which is
// nil if the answer did not have it.
func (b *backoff) refused(row *Row, now UnixMilli) {
	b.blocker, b.blockedAt = row, now
	before := b.owner
	if row != nil {
		b.owner = row.Owner
	}
	b.ownerChanged = before != "" && before != b.owner
}

// next returns the pause before the next attempt. It ends no later than the
// row that refused the last put.
func (b *backoff) next(now clock.Reading) time.Duration {
	return min(b.pause(), b.untilFree(now))
}

// pause returns an exponentially growing pause with full jitter, which spreads
// the attempts of many processes best. While the lock passes from owner to
// owner it stops growing early, so that the next cooldown isn't missed.
func (b *backoff) pause() time.Duration {
	if b.poll > 0 {
		return b.equalJitter(b.poll)
	}
	if b.ownerChanged && b.limit >= pauseOwnerChanged {
		return b.equalJitter(pauseOwnerChanged)
	}
	d := time.Duration(b.jitter() * float64(b.limit))
	b.limit = min(time.Duration(float64(b.limit)*pauseGrowth), pauseMax)
	return d
}

// equalJitter returns a pause between half of d and d.
func (b *backoff) equalJitter(d time.Duration) time.Duration {
	return d - time.Duration(b.jitter()*float64(d/2))
}

// untilFree returns the time until our :now reaches the until of the blocking
// row.
func (b *backoff) untilFree(now clock.Reading) time.Duration {
	if b.blocker == nil || b.blocker.Until <= b.blockedAt {
		return noLimit
	}
	until := b.blocker.Until.Time()
	d := max(until.Sub(b.time.At(now).Earliest), 0)
	// The bound loosens during the pause, so :now will lag behind a little.
	then := clock.Reading{Wall: now.Wall.Add(d), ElapsedMax: now.ElapsedMax + d, ElapsedMin: now.ElapsedMin + d}
	short := max(until.Sub(b.time.At(then).Earliest), 0)
	return d + short + short/1000
}
