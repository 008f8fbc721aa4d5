package sim

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed  = flag.Int64("seed", -1, "run this seed alone, and print what happens")
	seeds    = flag.Uint64("seeds", 10_000, "how many seeds to run")
	first    = flag.Uint64("first", 0, "the first of them")
	only     = flag.String("property", "", "check this property alone: exclusion, lease, termination, budget, refusal")
	progress = flag.Uint64("progress", 0, "print a line after each so many seeds")
)

// runSeed runs a simulation in a bubble, because the queue of a process has
// timers of its own. A bubble doesn't end before all its goroutines have.
func runSeed(t *testing.T, seed uint64, m mutant, only property, log func(string)) (sim *simulation) {
	synctest.Test(t, func(*testing.T) { sim = run(seed, m, only, log) })
	return sim
}

func TestSeeds(t *testing.T) {
	if *oneSeed >= 0 {
		sim := runSeed(t, uint64(*oneSeed), mutant{}, property(*only), func(line string) { t.Log(line) })
		for _, text := range sim.violations {
			t.Error(text)
		}
		return
	}
	s := search{seeds: *seeds}
	if underRaceDetector() {
		// It makes a simulation fifteen times as slow and finds little where one
		// goroutine runs at a time. So it checks a few seeds, and all of them
		// run in a test that is built without it.
		s.seeds /= 50
		out, err := testSeeds(property(*only))
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
	}
	s.begin = time.Now()
	t.Run("part", func(t *testing.T) {
		parts := runtime.GOMAXPROCS(0)
		for part := range parts {
			t.Run(strconv.Itoa(part), func(t *testing.T) {
				t.Parallel()
				s.run(t, uint64(part), uint64(parts))
			})
		}
	})
	t.Log(&s)
	if sum := s.sum; sum.acquired < int(s.seeds) || sum.kept == 0 || sum.queued == 0 || sum.resolved == 0 || sum.crashes == 0 || sum.stopped == 0 {
		t.Errorf("got %+v, want many of each", sum)
	}
}

// testSeeds runs TestSeeds in a test that is built with these arguments and
// without the race detector.
func testSeeds(only property, args ...string) (output []byte, err error) {
	args = append([]string{"test", "-race=false", "-count=1", "-v", "-timeout=10m", "-run=^TestSeeds$"}, args...)
	args = append(args, ".", "-property", string(only), "-seeds", fmt.Sprint(*seeds), "-first", fmt.Sprint(*first))
	return exec.Command("go", args...).CombinedOutput()
}

// search looks for a seed that violates a property.
type search struct {
	seeds uint64
	begin time.Time

	mu     sync.Mutex // guards what follows
	done   uint64
	sum    counts
	failed bool
}

// repeatEvery is how many seeds there are to one that is run twice.
const repeatEvery = 20

// run runs the part of the seeds that is one of parts.
func (s *search) run(t *testing.T, part, parts uint64) {
	for n := part; n < s.seeds; n += parts {
		seed := *first + n
		sim := runSeed(t, seed, mutant{}, property(*only), nil)
		for _, text := range sim.violations {
			t.Errorf("seed %d: %s", seed, text)
		}
		if n%repeatEvery == 0 {
			if again := runSeed(t, seed, mutant{}, property(*only), nil); again.counts != sim.counts || again.now != sim.now {
				t.Errorf("seed %d: got %+v once and %+v once, want the same", seed, sim.counts, again.counts)
			}
		}
		if t.Failed() {
			t.Errorf("repeat it by: make sim SEED=%d", seed)
		}
		if s.add(sim.counts, t.Failed()) {
			return
		}
	}
}

// add adds the counts of a simulation. It reports whether the search is over.
func (s *search) add(c counts, failed bool) bool {
	s.mu.Lock()
	s.done++
	s.sum.add(c)
	s.failed = s.failed || failed
	over := s.failed
	show := *progress > 0 && s.done%*progress == 0
	s.mu.Unlock()
	if show {
		fmt.Fprintln(os.Stderr, s)
	}
	return over
}

// String describes the progress of the search.
func (s *search) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(s.begin)
	return fmt.Sprintf("%d of %d seeds in %v, %.0f a second: %d requests, %d acquisitions, %d stops, %d crashes, %d overlaps; %+v",
		s.done, s.seeds, took.Round(time.Second), float64(s.done)/took.Seconds(),
		s.sum.requests, s.sum.acquired, s.sum.stopped, s.sum.crashes, s.sum.overlaps, s.sum)
}

func underRaceDetector() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestSeedRepeatsItsHistory(t *testing.T) {
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
