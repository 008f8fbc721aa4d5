// Command interrupts measures how late a call is interrupted: every function
// that a script can call, across a deadline, in every way there is to call it.
// It writes docs/interrupts.md. Its tests try the same calls in fake time, and
// hold that no function and no way is missing on the page.
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
	page := flag.String("page", "", "write the page to this file; default: print")
	rounds := flag.Int("rounds", 4, "how often each call is measured in each way")
	only := flag.String("only", "", "measure the functions whose names contain this, and nothing else")
	watched := flag.String(watcherFlag[1:], "", "be the watcher, which writes to this file")
	flag.Parse()
	if *watched != "" {
		if err := watch(*watched); err != nil {
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
		if p.crowd, err = crowded(); err != nil {
			return err
		}
	}
	if file == "" {
		_, err = os.Stdout.WriteString(p.text())
		return err
	}
	return os.WriteFile(file, []byte(p.text()), 0o644)
}
