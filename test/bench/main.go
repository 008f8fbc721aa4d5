// Command bench compares what tidelock costs with other implementations, and
// prints tables of ratios as Markdown. The contenders run in turn, in one run of
// the program: machines are shared and noisy, so only ratios are meaningful.
//
//	make bench
//
// The tables of docs/benchmarks.md are its output: make bench-page.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// group is the benchmarks of one topic. It is a section of the page.
type group struct {
	name    string // for -only, and for the marks of the section in the page
	measure func(*bench) error
}

// groups returns all groups in the order in which they are measured.
func groups() []group {
	return []group{
		{"machine", describeMachine},
		{"hook", hook},
		{"run", comparisonGroup(runComparisons)},
		{"call", comparisonGroup(callComparisons)},
		{"lock", comparisonGroup(lockComparisons)},
		{"waiters", waiters},
		{"fairness", fairness},
		{"db-lock", dbLock},
		{"contended", contended},
		{"remote", remote},
		{"http", rateGroup(httpRates)},
		{"sql", rateGroup(sqlRates)},
		{"task", taskHost},
		{"lambda", lambdaHost},
	}
}

func main() {
	rounds := flag.Int("rounds", 40, "number of turns of each contender")
	turn := flag.Duration("turn", 10*time.Millisecond, "approximate duration of a turn")
	only := flag.String("only", "", "measure only the groups whose names contain this")
	page := flag.String("page", "", "also write the tables into this page, each between the marks of its group")
	profile := flag.String("profile", "", "write a CPU profile of tidelock's contenders to this file")
	worker := flag.String("worker", "", "run as a worker of a benchmark of many processes, on the table at this endpoint")
	function := flag.String("function", "", "run as a Lambda function, that of this contender of the group lambda")
	flag.Parse()
	// Ctrl-C also ends the emulator and the workers.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *worker != "":
		err = serveWorker(ctx, *worker)
	case *function != "":
		err = serveFunction(*function)
	case *profile != "":
		err = recordProfile(*profile, *turn)
	default:
		err = run(&bench{Context: ctx, rounds: *rounds, turn: *turn}, *only, *page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(b *bench, only, page string) error {
	defer b.stop()
	for _, g := range groups() {
		if !strings.Contains(g.name, only) {
			continue
		}
		b.section.Reset()
		if err := g.measure(b); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		fmt.Printf("## %s\n\n%s\n", g.name, b.section.String())
		if page != "" {
			if err := replaceSection(page, g.name, b.section.String()); err != nil {
				return err
			}
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
	return nil
}
