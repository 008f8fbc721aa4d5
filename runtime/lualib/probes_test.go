package lualib

import (
	"path/filepath"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// budget bounds a hostile script in tests: enough to get anywhere, and over
// within a second.
var budget = vm.Limits{Instructions: 3_000_000, MemoryBytes: 64 << 20}

// withHostFunctions adds what hosts give to scripts. What is printed is kept.
func withHostFunctions(run *vm.Run) (printed *strings.Builder) {
	printed = new(strings.Builder)
	g := run.Globals()
	g.RawSetString("print", vm.NewFunction(func(L *lua.LState) int {
		for i := 1; i <= L.GetTop(); i++ {
			if i > 1 {
				printed.WriteByte('\t')
			}
			printed.WriteString(ToString(L, L.Get(i)))
		}
		printed.WriteByte('\n')
		return 0
	}))
	g.RawSetString("arm", vm.NewFunction(func(*lua.LState) int { return 0 }))
	return printed
}

// How a script ended, if it didn't return.
const (
	outOfSteps  = "out of steps"
	outOfMemory = "out of memory"
)

// runProbe runs a script of testdata and returns what it printed and how it
// ended: "", outOfSteps, outOfMemory or the error.
func runProbe(t *testing.T, name string) (printed, ended string) {
	t.Helper()
	run := newRun(t, budget)
	out := withHostFunctions(run)
	_, err := eval(t, run, probe(t, name))
	for _, incident := range run.Incidents() {
		if !strings.Contains(incident.Error(), "lua callstack overflow") {
			t.Errorf("%s: %v", name, incident)
		}
	}
	switch killed := run.Interrupt(); {
	case killed != nil && killed.Cause == vm.Instructions:
		return out.String(), outOfSteps
	case killed != nil && killed.Cause == vm.Memory:
		return out.String(), outOfMemory
	case err != nil:
		return out.String(), err.Error()
	}
	return out.String(), ""
}

func TestHostileScriptsEndByThemselves(t *testing.T) {
	want := map[string]string{
		"A05_parens_find.lua":         "",
		"A06_percent_gsub.lua":        outOfSteps,
		"A07_match_star.lua":          "",
		"A07b_match_capture.lua":      outOfSteps,
		"A12_rep_huge.lua":            outOfMemory,
		"A15_load_gofunc_inf.lua":     outOfSteps,
		"A19_tostring_self.lua":       "",
		"B01_gsub_quadratic_20k.lua":  "",
		"B01_gsub_quadratic_100k.lua": "",
		"B01_gsub_quadratic_200k.lua": "",
		"B02_find_backtrack.lua":      outOfSteps,
		"B04_gmatch_collect.lua":      "",
		"B06_gsub_gocallback.lua":     "",
		"B10_concat.lua":              "",
		"B11_unpack_growstep100k.lua": "too many results to unpack",
		"B11_unpack_growstep32.lua":   "too many results to unpack",
		"B16_rep_1g.lua":              outOfMemory,
		"C05_sort_numbers_2M.lua":     outOfSteps,
		"C07_len_trailing_8M.lua":     outOfSteps,
		"C08_sparse_fill_20M.lua":     "",
		"C09_insert_front_4M.lua":     outOfSteps,
		"C10_next_deleted_1M.lua":     outOfSteps,
		"C13_collectgarbage.lua":      "",
		"C14_format_width.lua":        "invalid option '%[' to 'format'",
		"C17_strcmp.lua":              outOfMemory,
		"D14_format.lua":              "invalid format (width or precision too long)",
		"D31_global_mutation.lua":     "attempt to index a non-table object(boolean) with key '__index'",
		"E02_globals2.lua":            "attempt to call a non-function object",
		"F02_540b.lua":                "",
		"F05_317.lua":                 "",
		"F06_misc.lua":                "__len undefined",
	}
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			printed, got := runProbe(t, name)
			if want, ok := want[name]; !ok || withoutPosition(got) != want {
				t.Errorf("ended with %q, want %q; it printed\n%s", got, want, printed)
			}
			for _, trace := range []string{"goroutine", ".go:", "runtime error", "0xc0"} {
				if strings.Contains(printed+got, trace) {
					t.Errorf("shows Go's inside (%s):\n%s%s", trace, printed, got)
				}
			}
		})
	}
}
