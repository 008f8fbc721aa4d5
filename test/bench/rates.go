package main

import (
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// rateComparison is a comparison of rates per second.
type rateComparison struct {
	comparison
	perOp int // items that one operation of a contender processes
}

// rateTurnFactor is how much longer turns are here than in other groups.
const rateTurnFactor = 5

// rateGroup returns the measure function of a group that consists of rate
// comparisons. stop releases what they use.
func rateGroup(list func() (all []rateComparison, stop func(), err error)) func(*bench) error {
	return func(b *bench) error {
		all, stop, err := list()
		if err != nil {
			return err
		}
		defer stop()
		turns := &bench{Context: b, rounds: b.rounds, turn: rateTurnFactor * b.turn}
		var rows [][]string
		for _, r := range all {
			rows = append(rows, r.measure(turns)...)
		}
		b.table([]string{"benchmark", "contender", "most per second", "median", "ratio", "CPU of each", "ratio", "bytes", "goal"}, rows)
		return nil
	}
}

func (r rateComparison) measure(b *bench) (rows [][]string) {
	c, used := r.comparison, make([]cpuUsage, len(r.contenders))
	c.contenders = nil
	for i, contender := range r.contenders {
		c.contenders = append(c.contenders, used[i].measuring(contender))
	}
	results := b.measure(c)
	for i, m := range results {
		row := []string{"", c.contenders[i].name, perSecond(r.perOp, m.least), perSecond(r.perOp, m.median), ratio(results[0].least, m.least),
			formatDuration(used[i].perOperation() / time.Duration(r.perOp)), ratio(used[0].perOperation(), used[i].perOperation()), fmt.Sprint(m.bytes / uint64(r.perOp)), ""}
		if i == 0 {
			row[0] = r.name
		}
		if i == len(results)-1 {
			row[len(row)-1] = r.goal
		}
		rows = append(rows, row)
	}
	return rows
}

// perSecond formats the rate of n items in d.
func perSecond(n int, d time.Duration) string {
	return strconv.FormatFloat(float64(n)/d.Seconds(), 'f', 0, 64)
}

// cpuUsage is the processor time of operations. Other load on the machine
// affects it less than their duration.
type cpuUsage struct {
	time time.Duration
	ops  int
}

// measuring returns the contender with its processor time measured.
func (u *cpuUsage) measuring(c contender) contender {
	return contender{c.name, func() (func(int), func()) {
		op, stop := c.start()
		return func(n int) {
			before := cpuTime()
			op(n)
			u.time += cpuTime() - before
			u.ops += n
		}, stop
	}}
}

func (u *cpuUsage) perOperation() time.Duration { return u.time / time.Duration(max(u.ops, 1)) }

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
