package sim

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed = flag.Int64("seed", -1, "run this seed alone, and print what happens")
	seeds   = flag.Uint64("seeds", 3000, "how many seeds to run")
)

// runSeed runs a world in a bubble, because the queue of a process has timers
// of its own.
func runSeed(t *testing.T, seed uint64, broken mutant, log func(string)) (w *world) {
	synctest.Test(t, func(*testing.T) { w = run(seed, broken, log) })
	return w
}

func TestSeeds(t *testing.T) {
	if *oneSeed >= 0 {
		w := runSeed(t, uint64(*oneSeed), mutant{}, func(line string) { t.Log(line) })
		for _, text := range w.found {
			t.Error(text)
		}
		return
	}
	var sum counts
	begin := time.Now()
	for seed := range *seeds {
		w := runSeed(t, seed, mutant{}, nil)
		for _, text := range w.found {
			t.Errorf("seed %d: %s", seed, text)
		}
		sum.add(w.counts)
	}
	t.Logf("%d seeds: %+v in %v", *seeds, sum, time.Since(begin))
}
