// Command interrupts measures how late calls are interrupted by a deadline:
// every function that a script can call, in every call context (a loop, a
// callback, a coroutine and so on). It writes docs/interrupts.md. Its tests make
// the same calls in fake time, and check that no function and no call context is
// missing on the page.
//
//	make interrupts
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	page := flag.String("page", "", "write the page to this file instead of standard output")
	rounds := flag.Int("rounds", 4, "measurements of each call in each call context")
	only := flag.String("only", "", "measure only the functions whose names contain this")
	watcherFile := flag.String(watcherFlag[1:], "", "run as the watcher, which writes to this file")
	flag.Parse()
	if *watcherFile != "" {
		if err := watch(*watcherFile); err != nil {
			fmt.Fprintln(os.Stderr, "interrupts:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*page, *rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "interrupts:", err)
		os.Exit(1)
	}
}

func run(file string, rounds int, only string) error {
	var chosen []row
	for _, r := range rows() {
		if strings.Contains(r.name, only) {
			chosen = append(chosen, r)
		}
	}
	runtime.GOMAXPROCS(1)
	p, err := measure(chosen, rounds)
	if err != nil {
		return err
	}
	if only == "" {
		if p.load, err = measureLoad(); err != nil {
			return err
		}
	}
	if file == "" {
		_, err = os.Stdout.WriteString(p.text())
		return err
	}
	return os.WriteFile(file, []byte(p.text()), 0o644)
}
