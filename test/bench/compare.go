package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// contender is one of the implementations that are compared.
type contender struct {
	name string
	// start prepares the contender. op performs the operation n times; stop
	// releases what start has made.
	start func() (op func(n int), stop func())
}

// comparison measures contenders against the first one. The last one is
// tidelock.
type comparison struct {
	name       string
	goal       string // printed beside the ratio of tidelock; no code checks it
	contenders []contender
}

// measurement is the cost of one operation of a contender.
type measurement struct {
	least, median time.Duration
	bytes         uint64
}

var comparisonHeader = []string{"benchmark", "contender", "least", "median", "bytes", "ratio", "goal"}

// comparisonGroup returns the measure function of a group that consists of
// comparisons.
func comparisonGroup(list func() []comparison) func(*bench) error {
	return func(b *bench) error {
		var rows [][]string
		for _, c := range list() {
			rows = append(rows, c.rows(b.measure(c))...)
		}
		b.table(comparisonHeader, rows)
		return nil
	}
}

// rows returns the rows of the table, with the goal beside the ratio of tidelock.
func (c comparison) rows(results []measurement) (rows [][]string) {
	for i, m := range results {
		name, goal := c.name, ""
		if i > 0 {
			name = ""
		}
		if i == len(results)-1 {
			goal = c.goal
		}
		rows = append(rows, []string{name, c.contenders[i].name, formatDuration(m.least), formatDuration(m.median), fmt.Sprint(m.bytes),
			ratio(m.least, results[0].least), goal})
	}
	return rows
}

// measure lets the contenders run in turn.
func (b *bench) measure(c comparison) []measurement {
	ops := make([]func(int), len(c.contenders))
	n := make([]int, len(ops))
	for i, contender := range c.contenders {
		op, stop := contender.start()
		defer stop()
		ops[i] = op
		n[i] = calibrate(op, b.turn)
	}
	took := make([][]time.Duration, len(ops))
	results := make([]measurement, len(ops))
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

// calibrate returns how often op runs in one turn. It uses the best of a few
// tries, because on a busy machine any one of them may be preempted.
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
