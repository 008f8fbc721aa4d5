package lualib

import (
	"strings"
	"testing"
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
)

func TestGsubCountsCallsOfGoFunctions(t *testing.T) {
	run := newRun(t, vm.Limits{})
	do(t, run, `("a"):rep(100)`)
	before := run.Steps()
	do(t, run, `return (("a"):rep(1000):gsub("a", type))`)
	with := run.Steps() - before
	before = run.Steps()
	do(t, run, `return (("a"):rep(1000):gsub("a", "b"))`)
	if without := run.Steps() - before; with < without+1000 {
		t.Errorf("got %d steps with 1,000 calls of a Go function, %d without", with, without)
	}
}

func TestBufferCountsWhatIsWritten(t *testing.T) {
	run := newRun(t, vm.Limits{})
	withBigValues(run)
	before := run.Steps()
	do(t, run, `string.format("%s", big)`)
	if got, want := run.Steps()-before, int64(8<<20/bytesPerStep); got < want {
		t.Errorf("got %d steps for 8 MiB, want at least %d", got, want)
	}
}

func TestSortCountsComparisons(t *testing.T) {
	run := newRun(t, vm.Limits{})
	withBigValues(run)
	before := run.Steps()
	do(t, run, `table.sort(few, rawequal)`)
	if got := run.Steps() - before; got < 5000 {
		t.Errorf("got %d steps for 2,000 elements, want two and one for each comparison", got)
	}
}

func TestFormatHasLuasVerbsOnly(t *testing.T) {
	for _, verb := range []string{"v", "T", "p", "t", "b", "U", "w", "a", "A", "n"} {
		check(t, []example{{`string.format("%` + verb + `", 1)`, "error: invalid option '%" + verb + "' to 'format'"}})
	}
}

func TestSetMetatableTakesTablesOnly(t *testing.T) {
	for _, value := range []string{"5", `"x"`, "true", "type", "coroutine.create(type)", "nil"} {
		check(t, []example{{`return (pcall(setmetatable, ` + value + `, {})), getmetatable(5), getmetatable(type)`, "false nil nil"}})
	}
}

func TestSubstringsKeepNoLargeTextAlive(t *testing.T) {
	const large = 1 << 20
	for _, script := range []string{
		`return big:sub(5, 20)`, `return big:match("^a(.-)$", -20)`, `return (big:gmatch(("%a"):rep(20)))()`,
		`local p big:gsub(("%a"):rep(20), function(s) p = s end, 1) return p`,
		`return (select(3, big:find("(a+)$", -20)))`,
	} {
		run := newRun(t, vm.Limits{})
		withBigValues(run)
		values, err := eval(t, run, script)
		if err != nil || len(values) != 1 {
			t.Fatal(script, values, err)
		}
		text, whole := string(values[0].(lua.LString)), string(bigValues()["big"].(lua.LString))
		first, at := uintptr(unsafe.Pointer(unsafe.StringData(whole))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
		if len(text) > 100 || at-first < uintptr(len(whole)) {
			t.Errorf("%s: its %d bytes are a part of the large text", script, len(text))
		}
	}
	name := strings.Repeat("=", large)
	if got := chunkName(name); unsafe.StringData(got) == unsafe.StringData(name[1:]) {
		t.Error("the name of a chunk is a part of the large text")
	}
}
