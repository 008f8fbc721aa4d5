package sim

import (
	"flag"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed = flag.Int64("seed", -1, "run this seed alone, and print what happens")
	seeds   = flag.Uint64("seeds", 4000, "how many seeds to run")
	first   = flag.Uint64("first", 0, "the first of them")
	only    = flag.String("promise", "", "look at this promise alone: stops, excludes, ends, costs, tells")
)

// runSeed runs a world in a bubble, because the queue of a process has timers
// of its own.
func runSeed(t *testing.T, seed uint64, broken mutant, only promise, log func(string)) (w *world) {
	synctest.Test(t, func(*testing.T) { w = run(seed, broken, only, log) })
	return w
}

func TestSeeds(t *testing.T) {
	if *oneSeed >= 0 {
		w := runSeed(t, uint64(*oneSeed), mutant{}, promise(*only), func(line string) { t.Log(line) })
		for _, text := range w.found {
			t.Error(text)
		}
		return
	}
	var sum counts
	begin := time.Now()
	for n := range seedsNow() {
		seed := *first + n
		w := runSeed(t, seed, mutant{}, promise(*only), nil)
		for _, text := range w.found {
			t.Errorf("seed %d: %s", seed, text)
		}
		if t.Failed() {
			t.Fatalf("repeat it by: make sim SEED=%d", seed)
		}
		sum.add(w.counts)
	}
	took := time.Since(begin)
	t.Logf("%d seeds in %v, %.0f holders a second: %+v", seedsNow(), took, float64(sum.acquired)/took.Seconds(), sum)
	if sum.acquired < int(seedsNow()) || sum.kept == 0 || sum.queued == 0 || sum.healed == 0 || sum.crashes == 0 {
		t.Errorf("got %+v, want much of each", sum)
	}
}

// seedsNow is how many seeds TestSeeds runs: under the race detector, which can
// find little where one thing happens at a time, only a tenth.
func seedsNow() uint64 {
	if build, ok := debug.ReadBuildInfo(); ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return *seeds / 10
	}
	return *seeds
}

func TestASeedGivesTheSameRunEachTime(t *testing.T) {
	for seed := range uint64(50) {
		var first, second []string
		runSeed(t, seed, mutant{}, "", func(line string) { first = append(first, line) })
		runSeed(t, seed, mutant{}, "", func(line string) { second = append(second, line) })
		for i, line := range first {
			if i >= len(second) || line != second[i] {
				t.Fatalf("seed %d, line %d: got %q, want %q", seed, i, slices.Concat(second, []string{"nothing"})[i], line)
			}
		}
		if len(second) != len(first) {
			t.Fatalf("seed %d: got %d lines, want %d", seed, len(second), len(first))
		}
	}
}
