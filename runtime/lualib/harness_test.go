package lualib

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/compile"
)

// compiler has the limits that a host has by default.
var compiler = compile.New(compile.Limits{Length: vm.Len})

// newRun makes a run with the library opened.
func newRun(t testing.TB, limits vm.Limits) *vm.Run {
	t.Helper()
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System()), Limits: limits})
	t.Cleanup(run.Close)
	New(compiler.Compile).Open(run.Thread())
	return run
}

// do runs a chunk and renders its results as renderScript does.
func do(t testing.TB, run *vm.Run, source string) string {
	t.Helper()
	results, err := eval(t, run, source)
	if err != nil {
		return "error: " + withoutPosition(err.Error())
	}
	texts := make([]string, len(results))
	for i, v := range results {
		texts[i] = render(v)
	}
	return strings.Join(texts, " ")
}

// eval runs a chunk on the run's thread.
func eval(t testing.TB, run *vm.Run, source string) ([]lua.LValue, error) {
	t.Helper()
	proto, err := compiler.Compile(context.Background(), "test", source)
	if err != nil {
		t.Fatalf("%v in %s", err, source)
	}
	L := run.Thread()
	top := L.GetTop()
	defer L.SetTop(top)
	L.Push(L.NewFunctionFromProto(proto))
	if err := L.PCall(0, lua.MultRet, nil); err != nil {
		return nil, fmt.Errorf("%s", err.(*lua.ApiError).Object)
	}
	var results []lua.LValue
	for i := top + 1; i <= L.GetTop(); i++ {
		results = append(results, L.Get(i))
	}
	return results, nil
}

var positionForm = regexp.MustCompile(`^[^:\n]*:\d+: `)

func withoutPosition(message string) string { return positionForm.ReplaceAllString(message, "") }

func render(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		s := strconv.FormatFloat(float64(v), 'g', 17, 64)
		return strings.NewReplacer("NaN", "nan", "+Inf", "inf", "-Inf", "-inf").Replace(s)
	case lua.LString:
		return quoteBytes(string(v))
	case *lua.LNilType, lua.LBool:
		return v.String()
	}
	return v.Type().String()
}

func quoteBytes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			fmt.Fprintf(&b, `\%03d`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// exploit returns the source of a script in testdata.
func exploit(t testing.TB, name string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}
