// Package clocktest has a clock that a test moves by hand.
package clocktest

import (
	"context"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Manual is a machine whose two clocks stand still until a test moves them. It
// is safe for use by many goroutines.
type Manual struct {
	mu   sync.Mutex // guards the clocks
	wall time.Time
	mono time.Duration
}

var _ clock.Clock = (*Manual)(nil)

// NewManual returns clocks that stand at a moment in 2027.
func NewManual() *Manual { return &Manual{wall: time.Unix(1_800_000_000, 0)} }

// Now reads both clocks.
func (m *Manual) Now() clock.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clock.Instant{Wall: m.wall, Mono: m.mono}
}

// Sleep panics: the goroutine that moves the clocks can't wait for them.
func (m *Manual) Sleep(context.Context, time.Duration) error {
	panic("clocktest: a manual clock can't be slept on")
}

// Advance moves the wall clock and the monotonic clock; negative durations set
// them back.
func (m *Manual) Advance(wall, mono time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall = m.wall.Add(wall)
	m.mono += mono
}
