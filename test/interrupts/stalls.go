package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A machine that is shared stops now and then: the operating system lets other
// processes run, or a hypervisor the operating systems of others. What is
// measured then is not ours. The first can be read from the system; the second
// is seen by another process, the watcher, which sleeps and looks at its clock.

// watcherFlag is how the program starts itself as the watcher.
const watcherFlag = "-watch"

// watcherSleeps is how long the watcher sleeps between two looks.
const watcherSleeps = 200 * time.Microsecond

// stallMin is the shortest stop that counts: no sleep ends on time.
const stallMin = time.Millisecond

// watch writes into a file, for ever: first when it was last awake and how long
// it has overslept in all, then from when to when each time.
func watch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var overslept time.Duration
	end := int64(recordBytes)
	parent := os.Getppid()
	for before := time.Now(); os.Getppid() == parent; {
		time.Sleep(watcherSleeps)
		now := time.Now()
		if late := now.Sub(before) - watcherSleeps; late > stallMin {
			overslept += late
			if err := writePair(f, end, before.UnixNano(), now.UnixNano()); err != nil {
				return err
			}
			end += recordBytes
		}
		before = now
		if err := writePair(f, 0, now.UnixNano(), int64(overslept)); err != nil {
			return err
		}
	}
	return nil
}

// recordBytes is the size of two numbers in the watcher's file.
const recordBytes = 16

func writePair(f *os.File, at, a, b int64) error {
	var record [recordBytes]byte
	binary.NativeEndian.PutUint64(record[:], uint64(a))
	binary.NativeEndian.PutUint64(record[8:], uint64(b))
	_, err := f.WriteAt(record[:], at)
	return err
}

func readPair(f *os.File, at int64) (a, b int64, ok bool) {
	var record [recordBytes]byte
	_, err := f.ReadAt(record[:], at)
	return int64(binary.NativeEndian.Uint64(record[:])), int64(binary.NativeEndian.Uint64(record[8:])), err == nil
}

// stalls tells how long the machine has stopped in all.
type stalls struct {
	file *os.File
	cmd  *exec.Cmd
}

func startWatcher() (*stalls, error) {
	f, err := os.CreateTemp("", "interrupts")
	if err != nil {
		return nil, err
	}
	s := &stalls{f, exec.Command(os.Args[0], watcherFlag, f.Name())}
	s.cmd.Stderr = os.Stderr
	return s, s.cmd.Start()
}

func (s *stalls) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// total returns the time that was lost until now. It waits until the watcher
// has been awake once more, for a second at most.
func (s *stalls) total() time.Duration {
	now := time.Now()
	for {
		awake, overslept, _ := readPair(s.file, 0)
		if awake > now.UnixNano() || time.Since(now) > time.Second {
			return waited() + time.Duration(overslept)
		}
		time.Sleep(watcherSleeps / 2)
	}
}

// undisturbed returns how long those of the times took in which the machine
// didn't stop.
func (s *stalls) undisturbed(times []timed) (durations []time.Duration) {
	type pair struct{ from, to int64 }
	var stops []pair
	for at := int64(recordBytes); ; at += recordBytes {
		from, to, ok := readPair(s.file, at)
		if !ok {
			break
		}
		stops = append(stops, pair{from, to})
	}
	for _, t := range times {
		from, to := t.from.Add(-t.settle).UnixNano(), t.to.UnixNano()
		if !slices.ContainsFunc(stops, func(p pair) bool { return p.from < to && from < p.to }) {
			durations = append(durations, t.to.Sub(t.from))
		}
	}
	return durations
}

// timed is something that was measured from one moment to another. settle is
// how long before it the machine mustn't have stopped.
type timed struct {
	from, to time.Time
	settle   time.Duration
}

// waited is how long the threads of this process have waited for a processor
// in all. Where the operating system doesn't tell, it is 0.
func waited() (sum time.Duration) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			ns, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
