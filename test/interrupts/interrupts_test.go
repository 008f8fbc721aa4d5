package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeTimeScale is for fake time, in which a poll takes a millisecond.
var fakeTimeScale = scale{rounds: 1, deadline: 20, lead: 1, kilo: 10, mega: 1000}

// inFakeTime runs test with a fixture in a bubble of fake time, in which each
// poll and each read from a stream take 1 ms.
func inFakeTime(t *testing.T, test func(t *testing.T, h *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, err := newFixture(func() { time.Sleep(time.Millisecond) })
		if err != nil {
			t.Fatal(err)
		}
		defer h.close()
		test(t, h)
	})
}

func TestRowsCoverEveryFunction(t *testing.T) {
	inFakeTime(t, func(t *testing.T, h *fixture) {
		r := h.run(t.Context(), observed, handles)
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		if len(h.functions) < 100 {
			t.Fatalf("got only %d functions", len(h.functions))
		}
		named := map[string]bool{}
		for _, r := range rows() {
			named[r.name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(h.functions)) {
			if !named[name] {
				t.Errorf("%s has no row", name)
			}
		}
		for _, r := range tables[1:] {
			for _, r := range r {
				if !h.functions[r.name] {
					t.Errorf("%s has a row, but no script can reach it", r.name)
				}
			}
		}
	})
}

func TestInterruptsInEveryCallContext(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name+"/"+r.text(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, h *fixture) {
				result := h.run(t.Context(), observed, r.source(fakeTimeScale))
				if result.Error != nil {
					t.Fatalf("%v\n%s", result.Error, r.source(fakeTimeScale))
				}
				var wrong []string
				if err := json.Unmarshal(result.JSON, &wrong); err != nil {
					t.Fatal(err)
				}
				for _, text := range wrong {
					t.Error(text)
				}
				if n := h.late.Load(); n > 0 {
					t.Errorf("%d calls or requests began after the deadline", n)
				}
				for _, incident := range result.Incidents {
					t.Error(incident)
				}
				for _, w := range callContexts {
					for _, lag := range h.lags[w.name] {
						if lag -= time.Duration(r.delay * float64(time.Millisecond)); lag < 0 || lag > 5*time.Millisecond {
							t.Errorf("%s: raised %v after the deadline", w.name, lag)
						}
					}
					if len(h.lags[w.name]) != 1 {
						t.Errorf("%s: measured %d times", w.name, len(h.lags[w.name]))
					}
				}
			})
		})
	}
}

func TestInterruptsPageIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/interrupts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## The table\n\n")
	if !found {
		t.Fatal("no table")
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	want := []string{header()}
	for _, r := range rows() {
		want = append(want, r.prefix())
	}
	for i, got := range lines {
		if i == 1 {
			continue // the delimiter row
		}
		n := max(i-1, 0)
		if n >= len(want) {
			t.Errorf("the page has %s, which is no row", got)
			continue
		}
		cells, ok := strings.CutPrefix(got, want[n])
		if !ok {
			t.Fatalf("row %d of the page begins %.80s, want %s: make interrupts", n, got, want[n])
		}
		if i > 0 && !measuredCells.MatchString(cells) {
			t.Errorf("%s does not have one figure for each of %d call contexts: %s", want[n], len(callContexts), cells)
		}
	}
	if len(lines)-1 < len(want) {
		t.Errorf("the page has %d rows, want %d: make interrupts", len(lines)-2, len(want)-1)
	}
}

var measuredCells = regexp.MustCompile(fmt.Sprintf(`^( \d+\.\d\d \|){%d}$`, len(callContexts)))
