package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// bench is one run of the program. Its context ends when it is interrupted.
type bench struct {
	context.Context
	rounds  int
	turn    time.Duration
	section strings.Builder // what the group that is measured has to say

	endpoint string // of the emulator, "" until somebody needs it
	end      func() // ends the emulator
}

// text writes a paragraph.
func (b *bench) text(format string, args ...any) {
	fmt.Fprintf(&b.section, format+"\n\n", args...)
}

// table writes a table that people can read without a browser too.
func (b *bench) table(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append(rows, header) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(&b.section, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.section.WriteString("|\n")
	}
	line(header)
	rule := make([]string, len(header))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	b.section.WriteString("\n")
}

// replace puts text between the marks of a group in a page.
func replace(page, group, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- bench "+group+" -->\n"), []byte("<!-- end -->")
	before, rest, found := bytes.Cut(old, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for %s: want %q and %q", page, group, begin, end)
	}
	text = strings.TrimSpace(text) + "\n"
	return os.WriteFile(page, bytes.Join([][]byte{before, begin, []byte(text), end, after}, nil), 0o644)
}

// machine says what was measured on.
func machine(b *bench) error {
	b.text("%s, %s/%s, %d processors%s.", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model())
	return nil
}

// model is the processor's name, where the system tells it.
func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// short is a time with three digits.
func short(d time.Duration) string {
	digit := time.Duration(1)
	for d/digit >= 1000 {
		digit *= 10
	}
	return d.Round(digit).String()
}

// times is how often b contains a.
func times(a, b time.Duration) string {
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64) + "x"
}

// seconds makes times of what scripts measured.
func seconds(of []float64) []time.Duration {
	out := make([]time.Duration, len(of))
	for i, s := range of {
		out[i] = time.Duration(s * float64(time.Second))
	}
	return out
}

// percentile of sorted times.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}
