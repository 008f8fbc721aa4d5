// Package clock measures elapsed time on a machine whose clocks can't be
// trusted: one may be stepped or slewed by an operator or a time daemon, the
// other stands still while the machine is suspended. Leases, waits and
// deadlines are measured on a [Dual] clock, which is made of both.
//
// It needs the standard library only, so that whatever measures time depends on
// nothing else.
package clock

import (
	"context"
	"time"
)

// Instant is one reading of a machine's two clocks. Neither is trusted alone:
// the wall clock is stepped by operators and time daemons, the monotonic one
// stands still while a machine is suspended or a snapshot is frozen.
type Instant struct {
	Wall time.Time     // no monotonic reading in it
	Mono time.Duration // since an arbitrary, fixed moment
}

// Clock is a machine's time. The production one is [System]; simulated
// processes bring their own.
type Clock interface {
	// Now reads both clocks.
	Now() Instant
	// Sleep waits for d, or returns ctx.Err() as soon as ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock reads the clocks of this machine.
type systemClock struct{ start time.Time }

// System returns the clock of this machine. In a testing/synctest bubble
// it must be made inside the bubble.
func System() Clock { return systemClock{start: time.Now()} }

func (c systemClock) Now() Instant {
	now := time.Now()
	return Instant{Wall: now.Round(0), Mono: now.Sub(c.start)}
}

func (c systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
