package main

import (
	"os"
	"runtime/pprof"
	"slices"
	"time"
)

// recordProfile writes the profile that builds are optimized with: tidelock's
// contenders of the hook, of whole runs, of calls and of local locks.
func recordProfile(path string, turn time.Duration) error {
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
