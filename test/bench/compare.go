package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// contender is one way to do the thing that is compared.
type contender struct {
	name string
	// start makes what op needs. op does the thing n times.
	start func() (op func(n int), stop func())
}

// comparison measures contenders against the first. The last one is ours.
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

var comparisonHeader = []string{"benchmark", "contender", "least", "median", "bytes", "ratio", "goal"}

// compared is a group of comparisons and nothing else.
func compared(list func() []comparison) func(*bench) error {
	return func(b *bench) error {
		var rows [][]string
		for _, c := range list() {
			rows = append(rows, c.rows(b.measure(c))...)
		}
		b.table(comparisonHeader, rows)
		return nil
	}
}

// rows has the goal beside the ratio of ours.
func (c comparison) rows(results []measured) (rows [][]string) {
	for i, m := range results {
		name, goal := c.name, ""
		if i > 0 {
			name = ""
		}
		if i == len(results)-1 {
			goal = c.goal
		}
		rows = append(rows, []string{name, c.contenders[i].name, short(m.least), short(m.median), fmt.Sprint(m.bytes),
			times(m.least, results[0].least), goal})
	}
	return rows
}

// measure gives the contenders turns one after the other.
func (b *bench) measure(c comparison) []measured {
	ops := make([]func(int), len(c.contenders))
	n := make([]int, len(ops))
	for i, contender := range c.contenders {
		op, stop := contender.start()
		defer stop()
		ops[i] = op
		n[i] = calibrate(op, b.turn)
	}
	took := make([][]time.Duration, len(ops))
	results := make([]measured, len(ops))
	for range b.rounds {
		for i, op := range ops {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			op(n[i])
			all := time.Since(began)
			runtime.ReadMemStats(&after)
			took[i] = append(took[i], all/time.Duration(n[i]))
			results[i].bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(n[i])
		}
	}
	for i, t := range took {
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

func geometricMean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
