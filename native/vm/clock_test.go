package vm

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// stepped is a machine whose two clocks a test moves.
type stepped struct {
	mu   sync.Mutex // guards the clocks
	wall time.Time
	mono time.Duration
}

func newStepped() *stepped { return &stepped{wall: time.Unix(1_800_000_000, 0)} }

func (c *stepped) Now() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Instant{Wall: c.wall, Mono: c.mono}
}

func (c *stepped) Sleep(context.Context, time.Duration) error { panic("nobody sleeps here") }

func (c *stepped) move(wall, mono time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(wall)
	c.mono += mono
}

func TestTheFastHandMissesNoTime(t *testing.T) {
	const step = 10 * time.Second
	for _, test := range []struct {
		name       string
		moves      [][2]time.Duration // of the wall and the monotonic clock
		fast, slow time.Duration
	}{
		{"both run", [][2]time.Duration{{step, step}}, step, step},
		{"suspended", [][2]time.Duration{{step, 0}}, step, 0},
		{"put back", [][2]time.Duration{{-step, 5 * time.Second}}, 5 * time.Second, 0},
		{"put forward", [][2]time.Duration{{time.Hour, time.Second}}, time.Hour, time.Second},
		{"put back, then suspended", [][2]time.Duration{{-step, 0}, {step, 0}}, step, 0},
		{"put forward, then back", [][2]time.Duration{{step, 1}, {-step, 1}}, step + 1, 1},
		{"slewed a little", [][2]time.Duration{{step, step - 5*time.Millisecond}}, step, step - 5*time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newStepped()
			hands := NewHands(clock)
			for _, m := range test.moves {
				clock.move(m[0], m[1])
				hands.Read()
			}
			r := hands.Read()
			if r.Fast != test.fast || r.Slow != test.slow {
				t.Errorf("got fast %v and slow %v, want %v and %v", r.Fast, r.Slow, test.fast, test.slow)
			}
		})
	}
}

func TestHandsEncloseTimeWhileOneClockRunsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := newStepped()
		hands := NewHands(clock)
		// What is apart by less than handsApart goes unnoticed, once a move.
		var real, before, unnoticed time.Duration
		for range rapid.IntRange(1, 50).Draw(t, "moves") {
			passed := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "passed"))
			wrong := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "wrong"))
			switch rapid.IntRange(0, 2).Draw(t, "which") {
			case 0:
				clock.move(passed, passed)
			case 1:
				clock.move(wrong, passed) // stepped
			case 2:
				clock.move(passed, 0) // suspended
			}
			real += passed
			unnoticed += handsApart
			r := hands.Read()
			if r.Fast < real-unnoticed || r.Fast < before-handsApart {
				t.Fatalf("the fast hand shows %v after %v, %v before", r.Fast, real, before)
			}
			if r.Slow > real+unnoticed {
				t.Fatalf("the slow hand shows %v after %v", r.Slow, real)
			}
			before = r.Fast
		}
	})
}

func TestAWallClockStepEndsALease(t *testing.T) {
	clock := newStepped()
	m := start(t, Config{Hands: NewHands(clock), Yield: func() { clock.move(10*time.Minute, time.Millisecond) }})
	m.expect("deadline exceeded", spin+`return select(2, pcall(with, 60000, spin))`)
}

func TestACallContextEndsWithItsFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		m.push(m.Hands().Fast() + 3*time.Second)
		ctx := m.Context()
		defer ctx.Stop()
		if err := ctx.Err(); err != nil {
			t.Fatalf("ended at once: %v", err)
		}
		began := time.Now()
		<-ctx.Done()
		if got := time.Since(began); got != 3*time.Second || context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("ended after %v because of %v", got, context.Cause(ctx))
		}
		derived, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if derived.Err() == nil {
			t.Error("a context derived from it goes on")
		}
	})
}

func TestWhetherACallHasEndedIsReadFromTheClocks(t *testing.T) {
	clock := newStepped()
	m := start(t, Config{Hands: NewHands(clock), Yield: func() {}})
	m.push(m.Hands().Fast() + time.Hour)
	call := m.Context()
	defer call.Stop()
	derived, cancel := context.WithTimeout(call, time.Hour)
	defer cancel()
	if Ended(derived) || Ended(t.Context()) {
		t.Error("ended before the end")
	}
	clock.move(2*time.Hour, 0) // stopped; no timer has noticed
	if !Ended(derived) {
		t.Error("not ended after the end")
	}
	if detached := Detach(derived); Ended(detached) || detached.Err() != nil {
		t.Error("what is detached has ended")
	}
}

func TestASuspensionEndsACallContextWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepped()
		m := start(t, Config{Hands: NewHands(clock)})
		m.push(m.Hands().Fast() + time.Hour)
		ctx := m.Context()
		defer ctx.Stop()
		done := ctx.Done()
		clock.move(2*time.Hour, 0)
		began := time.Now()
		<-done
		if got := time.Since(began); got > time.Second {
			t.Errorf("noticed after %v", got)
		}
	})
}
