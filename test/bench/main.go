// Command bench measures what tidelock costs beside what it is compared with,
// in one process, turn by turn, and prints ratios: machines are shared and
// noisy, and only a comparison in one run says anything.
//
//	make bench
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// contender is one way to do the thing that is compared.
type contender struct {
	name string
	// start makes what op needs. op does the thing n times.
	start func() (op func(n int), stop func())
}

// comparison measures contenders against the first.
type comparison struct {
	name       string
	goal       string // what is aimed at, for people
	contenders []contender
}

// measured is what one contender took for one operation.
type measured struct {
	least, median time.Duration
	bytes         uint64
}

func main() {
	rounds := flag.Int("rounds", 15, "how many turns each contender gets")
	turn := flag.Duration("turn", 20*time.Millisecond, "about how long a turn takes")
	only := flag.String("only", "", "run the comparisons whose names contain this")
	profile := flag.String("profile", "", "write a CPU profile of our contenders to this file")
	flag.Parse()
	if err := run(*rounds, *turn, *only, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, turn time.Duration, only, profile string) error {
	if profile != "" {
		return record(profile, turn)
	}
	for _, group := range [][]comparison{hookComparisons(), runComparisons(), callComparisons(), lockComparisons()} {
		ratios := map[string][]float64{}
		var names []string
		for _, c := range group {
			if !strings.Contains(c.name, only) {
				continue
			}
			fmt.Printf("%s (goal: %s)\n", c.name, c.goal)
			results := c.measure(rounds, turn)
			for i, m := range results {
				ratio := float64(m.least) / float64(results[0].least)
				name := c.contenders[i].name
				fmt.Printf("  %-22s %12v  median %12v  %8d B/op  x%.2f\n", name, m.least, m.median, m.bytes, ratio)
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				ratios[name] = append(ratios[name], ratio)
			}
		}
		for _, name := range names {
			if r := ratios[name]; len(r) > 2 {
				fmt.Printf("geometric mean of %s over %d programs: x%.2f\n", name, len(r), geometricMean(r))
			}
		}
	}
	if strings.Contains("fairness", only) {
		fairness()
	}
	if strings.Contains("waiters", only) {
		return waiters()
	}
	return nil
}

// measure gives the contenders turns one after the other.
func (c comparison) measure(rounds int, turn time.Duration) []measured {
	ops := make([]func(int), len(c.contenders))
	n := make([]int, len(ops))
	for i, contender := range c.contenders {
		op, stop := contender.start()
		defer stop()
		ops[i] = op
		n[i] = calibrate(op, turn)
	}
	times := make([][]time.Duration, len(ops))
	results := make([]measured, len(ops))
	for range rounds {
		for i, op := range ops {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			op(n[i])
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			times[i] = append(times[i], took/time.Duration(n[i]))
			results[i].bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(n[i])
		}
	}
	for i, t := range times {
		slices.Sort(t)
		results[i].least, results[i].median = t[0], t[len(t)/2]
	}
	return results
}

// calibrate finds how often op runs in one turn. It takes the best of a few
// tries: on a busy machine any one of them may be interrupted.
func calibrate(op func(int), turn time.Duration) int {
	op(1)
	for n := 1; ; n *= 2 {
		best := time.Duration(math.MaxInt64)
		for range 5 {
			began := time.Now()
			op(n)
			best = min(best, time.Since(began))
		}
		if best > turn/4 {
			return max(1, int(float64(n)*float64(turn)/float64(best)))
		}
	}
}

// record writes the profile that builds are optimised with: our side of the
// hook's programs, whole runs, calls and local locks.
func record(path string, turn time.Duration) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	for _, c := range slices.Concat(hookComparisons(), runComparisons(), callComparisons(), lockComparisons()[:1]) {
		ours := c.contenders[len(c.contenders)-1]
		op, stop := ours.start()
		n := calibrate(op, turn)
		for range 50 {
			op(n)
		}
		stop()
	}
	pprof.StopCPUProfile()
	return f.Close()
}
