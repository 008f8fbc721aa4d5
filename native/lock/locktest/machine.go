// Package locktest has what tests of locks need instead of a real store: a
// table whose service dates its answers, faults that lose, delay or duplicate
// its requests, and machines whose clocks are wrong.
package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Machine is a machine with clocks that a test can set, suspend, or make drift.
// Otherwise they run with the clock of this machine. It is safe for use by many
// goroutines.
type Machine struct {
	clock clock.Clock

	mu         sync.Mutex // guards what follows
	start      clock.Instant
	wall, mono time.Duration // how far each clock is off
	ppm        int64         // how much faster than real time both run, in millionths
}

// NewMachine returns a machine whose wall clock is off by wall. In a
// testing/synctest bubble it must be made inside.
func NewMachine(wall time.Duration) *Machine {
	clk := clock.System()
	return &Machine{clock: clk, start: clk.Now(), wall: wall}
}

// Now reads both clocks.
func (m *Machine) Now() clock.Instant {
	now := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	gain := (now.Mono - m.start.Mono) / 1e6 * time.Duration(m.ppm)
	return clock.Instant{Wall: now.Wall.Add(m.wall + gain), Mono: now.Mono + m.mono + gain}
}

// Sleep waits for d of real time, or until ctx is done.
func (m *Machine) Sleep(ctx context.Context, d time.Duration) error { return m.clock.Sleep(ctx, d) }

// Step sets the wall clock forward by d; a negative d sets it back.
func (m *Machine) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += d
}

// Suspend lets d pass on the wall clock while the monotonic one stands still.
// The caller lets the same d of real time pass.
func (m *Machine) Suspend(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mono -= d
}

// SetDrift makes both clocks gain ppm millionths from the beginning on.
func (m *Machine) SetDrift(ppm int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ppm = ppm
}
