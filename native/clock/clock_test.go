package clock_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/clock/clocktest"
)

func TestDualElapsedMaxMissesNoTime(t *testing.T) {
	const step = 10 * time.Second
	for _, test := range []struct {
		name     string
		moves    [][2]time.Duration // of the wall and the monotonic clock
		max, min time.Duration
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
			clk := clocktest.NewManual()
			dual := clock.NewDual(clk)
			for _, m := range test.moves {
				clk.Advance(m[0], m[1])
				dual.Read()
			}
			r := dual.Read()
			if r.ElapsedMax != test.max || r.ElapsedMin != test.min {
				t.Errorf("got %v and %v, want %v and %v", r.ElapsedMax, r.ElapsedMin, test.max, test.min)
			}
		})
	}
}

func TestDualEnclosesTimeWhileOneClockRunsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clk := clocktest.NewManual()
		dual := clock.NewDual(clk)
		// What is apart by less than clock.MaxDivergence goes unnoticed, once a move.
		var real, before, unnoticed time.Duration
		for range rapid.IntRange(1, 50).Draw(t, "moves") {
			passed := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "passed"))
			wrong := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "wrong"))
			switch rapid.IntRange(0, 2).Draw(t, "which") {
			case 0:
				clk.Advance(passed, passed)
			case 1:
				clk.Advance(wrong, passed) // stepped
			case 2:
				clk.Advance(passed, 0) // suspended
			}
			real += passed
			unnoticed += clock.MaxDivergence
			r := dual.Read()
			if r.ElapsedMax < real-unnoticed || r.ElapsedMax < before-clock.MaxDivergence {
				t.Fatalf("ElapsedMax is %v after %v, %v before", r.ElapsedMax, real, before)
			}
			if r.ElapsedMin > real+unnoticed {
				t.Fatalf("ElapsedMin is %v after %v", r.ElapsedMin, real)
			}
			before = r.ElapsedMax
		}
	})
}
