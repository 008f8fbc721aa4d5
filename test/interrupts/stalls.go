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

// A shared machine stalls now and then: the operating system runs other
// processes, or a hypervisor runs other machines. Measurements made then say
// nothing about tidelock. Stalls of the first kind can be read from the system.
// Those of the second kind are seen by another process, the watcher, which
// sleeps and reads its clock.

// watcherFlag is how the program starts itself as the watcher.
const watcherFlag = "-watch"

// watcherInterval is how long the watcher sleeps between two readings.
const watcherInterval = 200 * time.Microsecond

// stallMin is the shortest stall that counts: no sleep ends exactly on time.
const stallMin = time.Millisecond

// watch is the watcher. Until its parent ends it writes to a file, first when
// it was last awake and how long it has overslept in total, then the beginning
// and end of each stall.
func watch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var overslept time.Duration
	end := int64(recordBytes)
	parent := os.Getppid()
	for before := time.Now(); os.Getppid() == parent; {
		time.Sleep(watcherInterval)
		now := time.Now()
		if late := now.Sub(before) - watcherInterval; late > stallMin {
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

func writePair(f *os.File, offset, a, b int64) error {
	var record [recordBytes]byte
	binary.NativeEndian.PutUint64(record[:], uint64(a))
	binary.NativeEndian.PutUint64(record[8:], uint64(b))
	_, err := f.WriteAt(record[:], offset)
	return err
}

func readPair(f *os.File, offset int64) (a, b int64, ok bool) {
	var record [recordBytes]byte
	_, err := f.ReadAt(record[:], offset)
	return int64(binary.NativeEndian.Uint64(record[:])), int64(binary.NativeEndian.Uint64(record[8:])), err == nil
}

// stallWatcher knows when the machine stalled, and for how long in total.
type stallWatcher struct {
	file *os.File
	cmd  *exec.Cmd
}

func startStallWatcher() (*stallWatcher, error) {
	f, err := os.CreateTemp("", "interrupts")
	if err != nil {
		return nil, err
	}
	s := &stallWatcher{f, exec.Command(os.Args[0], watcherFlag, f.Name())}
	s.cmd.Stderr = os.Stderr
	return s, s.cmd.Start()
}

func (s *stallWatcher) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// total returns the total time of all stalls until now. It waits until the
// watcher has been awake once more, but at most one second.
func (s *stallWatcher) total() time.Duration {
	now := time.Now()
	for {
		awake, overslept, _ := readPair(s.file, 0)
		if awake > now.UnixNano() || time.Since(now) > time.Second {
			return processorWait() + time.Duration(overslept)
		}
		time.Sleep(watcherInterval / 2)
	}
}

// undisturbed returns the durations of those intervals in which the machine did
// not stall.
func (s *stallWatcher) undisturbed(intervals []timed) (durations []time.Duration) {
	type pair struct{ from, to int64 }
	var stallTimes []pair
	for at := int64(recordBytes); ; at += recordBytes {
		from, to, ok := readPair(s.file, at)
		if !ok {
			break
		}
		stallTimes = append(stallTimes, pair{from, to})
	}
	for _, t := range intervals {
		from, to := t.from.Add(-t.before).UnixNano(), t.to.UnixNano()
		if !slices.ContainsFunc(stallTimes, func(p pair) bool { return p.from < to && from < p.to }) {
			durations = append(durations, t.to.Sub(t.from))
		}
	}
	return durations
}

// timed is the interval of one measurement. The machine must not have stalled
// in it, nor for the duration before it.
type timed struct {
	from, to time.Time
	before   time.Duration
}

// processorWait returns how long the threads of this process have waited for a
// processor in total, and 0 where the operating system does not tell.
func processorWait() (sum time.Duration) {
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
