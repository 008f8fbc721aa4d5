package main

import (
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// rate is a comparison of how much gets done in a second.
type rate struct {
	comparison
	each int // how many things one operation of a contender does
}

// longer is how much longer turns are than in other groups.
const longer = 5

// rated is a group of rates and nothing else. stop ends what they need.
func rated(list func() (all []rate, stop func(), err error)) func(*bench) error {
	return func(b *bench) error {
		all, stop, err := list()
		if err != nil {
			return err
		}
		defer stop()
		turns := &bench{Context: b, rounds: b.rounds, turn: longer * b.turn}
		var rows [][]string
		for _, r := range all {
			rows = append(rows, r.measure(turns)...)
		}
		b.table([]string{"benchmark", "contender", "most per second", "median", "ratio", "CPU of each", "ratio", "bytes", "goal"}, rows)
		return nil
	}
}

func (r rate) measure(b *bench) (rows [][]string) {
	c, used := r.comparison, make([]usage, len(r.contenders))
	c.contenders = nil
	for i, contender := range r.contenders {
		c.contenders = append(c.contenders, used[i].of(contender))
	}
	results := b.measure(c)
	for i, m := range results {
		row := []string{"", c.contenders[i].name, perSecond(r.each, m.least), perSecond(r.each, m.median), times(results[0].least, m.least),
			short(used[i].each() / time.Duration(r.each)), times(used[0].each(), used[i].each()), fmt.Sprint(m.bytes / uint64(r.each)), ""}
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

// perSecond is how many things are done in a second, if n of them take d.
func perSecond(n int, d time.Duration) string {
	return strconv.FormatFloat(float64(n)/d.Seconds(), 'f', 0, 64)
}

// usage is how much time of processors operations have used: what else the
// machine has to do changes it less than how long they take.
type usage struct {
	time  time.Duration
	times int
}

// of counts the operations of a contender.
func (u *usage) of(c contender) contender {
	return contender{c.name, func() (func(int), func()) {
		op, stop := c.start()
		return func(n int) {
			before := processors()
			op(n)
			u.time += processors() - before
			u.times += n
		}, stop
	}}
}

func (u *usage) each() time.Duration { return u.time / time.Duration(max(u.times, 1)) }

// processors is the time of processors that this process has used.
func processors() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
