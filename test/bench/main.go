// Command bench measures what tidelock costs beside what it is compared with,
// in one run, turn by turn, and prints tables of ratios as Markdown: machines
// are shared and noisy, and only a comparison in one run says anything.
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

// group is the benchmarks of one topic, and a section of the page.
type group struct {
	name    string // what -only picks, and the section's mark in the page
	measure func(*bench) error
}

// groups is what there is, in the order in which it is measured.
func groups() []group {
	return []group{
		{"machine", machine},
		{"hook", hook},
		{"run", compared(runComparisons)},
		{"call", compared(callComparisons)},
		{"lock", compared(lockComparisons)},
		{"waiters", waiters},
		{"fairness", fairness},
		{"db-lock", dbLock},
		{"contended", contended},
		{"remote", remote},
		{"http", rated(httpRates)},
		{"sql", rated(sqlRates)},
		{"task", taskHost},
		{"lambda", lambdaHost},
	}
}

func main() {
	rounds := flag.Int("rounds", 40, "how many turns each contender gets")
	turn := flag.Duration("turn", 10*time.Millisecond, "about how long a turn takes")
	only := flag.String("only", "", "measure the groups whose names contain this")
	page := flag.String("page", "", "write the tables into this page too, each between the marks of its group")
	profile := flag.String("profile", "", "write a CPU profile of our contenders to this file")
	worker := flag.String("worker", "", "be a process of a benchmark of many processes, on the table at this endpoint")
	function := flag.String("function", "", "be a function on AWS Lambda, of this contender of the group lambda")
	flag.Parse()
	// Ctrl-C ends the emulator and the workers as well.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *worker != "":
		err = serve(ctx, *worker)
	case *function != "":
		err = beFunction(*function)
	case *profile != "":
		err = record(*profile, *turn)
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
	defer b.close()
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
			if err := replace(page, g.name, b.section.String()); err != nil {
				return err
			}
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
	return nil
}
