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

// bench is one run of the program. Its context ends when the program is
// interrupted.
type bench struct {
	context.Context
	rounds  int
	turn    time.Duration
	section strings.Builder // the output of the current group

	endpoint     string // of the emulator; "" until a group needs it
	stopEmulator func() // ends the emulator; nil until it is started
}

// text writes a paragraph.
func (b *bench) text(format string, args ...any) {
	fmt.Fprintf(&b.section, format+"\n\n", args...)
}

// table writes a table whose columns are aligned in the text too.
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

// replaceSection replaces the text between the marks of a group in a page.
func replaceSection(page, group, text string) error {
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

// describeMachine describes the machine.
func describeMachine(b *bench) error {
	b.text("%s, %s/%s, %d processors%s.", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processorModel())
	return nil
}

// processorModel returns the name of the processor where the system tells it.
func processorModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // exists on Linux only
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// formatDuration formats d with three significant digits.
func formatDuration(d time.Duration) string {
	digit := time.Duration(1)
	for d/digit >= 1000 {
		digit *= 10
	}
	return d.Round(digit).String()
}

// ratio formats a/b.
func ratio(a, b time.Duration) string {
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64) + "x"
}

// secondsToDurations converts seconds, as scripts measure them.
func secondsToDurations(of []float64) []time.Duration {
	out := make([]time.Duration, len(of))
	for i, s := range of {
		out[i] = time.Duration(s * float64(time.Second))
	}
	return out
}

// percentile returns a percentile of sorted durations, 0 if there are none.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}
