package compile

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/lualib"
)

var programs = flag.Int("programs", 3000, "how many random programs to compare with lua5.1")

// batch is how many programs one process of lua5.1 runs.
const batch = 1000

// burnMax is how often a program may call burn, stepsMax how many instructions
// it may execute: far more than a right translation needs for burnMax.
const (
	burnMax  = 300
	stepsMax = 400_000
)

// prelude defines the functions that programs call, for lua5.1; natives defines
// the same in Go.
const prelude = `
local out, fuel
local function show(v)
  if type(v) ~= "number" then return type(v) == "string" and v or type(v) == "boolean" and tostring(v) or type(v) end
  if v ~= v then return "nan" end
  if v == 1/0 then return "inf" elseif v == -1/0 then return "-inf" elseif v == 0 then return "0" end
  return string.format("%.9g", v * (1 + 2^-40)) -- no number lies between two digits: LuaJIT rounds it otherwise than C
end
function emit(...) for i = 1, select("#", ...) do out[#out + 1] = show((select(i, ...))) end out[#out + 1] = ";" end
function burn() fuel = fuel - 1 if fuel < 0 then error("burnt") end end
function id(...) return ... end
function tr(v) emit(v) return v end
function two(v) return v, 42 end
function none() end
function key(n) if n > -100 and n < 100 then return math.floor(n) % 3 + 1 end return 1 end
function whole(n) if n > -2^53 and n < 2^53 then return math.floor(n) end return 1 end
function long(n) local t = {} for i = 1, n do t[i] = i end return t end
function count(n) local i = 0 return function() i = i + 1 if i <= n and i < 9 then return i end end end
function run(source)
  out, fuel, g1, g2 = {}, 300, nil, nil
  o = {next = next, plain = function(v) return v end, method = function(_, v) return v end}
  local f = assert(loadstring(source))
  if not pcall(f) then out[#out + 1] = "error" end
  print(table.concat(out, " "))
end
`

func TestRandomProgramsAgreeWithLua(t *testing.T) {
	testRandomPrograms(t, "lua5.1", *programs, false)
}

// TestRandomProgramsAgreeWithLuaJIT compares programs with goto, which lua5.1
// doesn't have.
func TestRandomProgramsAgreeWithLuaJIT(t *testing.T) {
	testRandomPrograms(t, "luajit", *programs/3, true)
}

func testRandomPrograms(t *testing.T, reference string, programs int, jumps bool) {
	if _, err := exec.LookPath(reference); err != nil {
		t.Fatalf("%s is missing; install it: apt-get install -y %s", reference, reference)
	}
	compiler := New(Limits{CacheBytes: -1, Length: vm.Len})
	compile := func(source string) (*lua.FunctionProto, error) {
		return compiler.Compile(context.Background(), "program", source)
	}
	wrong, plainWrong := 0, 0
	for first := 0; first < programs; first += batch {
		var sources []string
		for seed := first; seed < min(first+batch, programs); seed++ {
			sources = append(sources, program(uint64(seed), jumps))
		}
		for i, want := range runLua(t, reference, sources) {
			if got := runProgram(compile, sources[i]); got != want {
				if wrong++; wrong <= 5 {
					t.Errorf("seed %d:\n got %.300s\nwant %.300s\nprogram:\n%s", first+i, got, want, sources[i])
				}
			}
			if runProgram(plain, sources[i]) != want {
				plainWrong++
			}
		}
	}
	t.Logf("%d of %d programs differ (with plain gopher-lua: %d)", wrong, programs, plainWrong)
	if wrong > 0 {
		t.Errorf("%d of %d programs differ", wrong, programs)
	}
	if programs >= 1000 && plainWrong == 0 {
		t.Error("no program differs with plain gopher-lua: they no longer show what the rewrite is for")
	}
}

// plain compiles as gopher-lua does by itself.
func plain(source string) (*lua.FunctionProto, error) {
	chunk, err := parse.Parse(strings.NewReader(source), "program")
	if err != nil {
		return nil, err
	}
	return lua.Compile(chunk, "program")
}

// runLua runs the programs with a reference and returns what each emitted.
func runLua(t *testing.T, reference string, sources []string) []string {
	t.Helper()
	var script bytes.Buffer
	script.WriteString(prelude)
	for _, source := range sources {
		fmt.Fprintf(&script, "run [==[\n%s]==]\n", source)
	}
	cmd := exec.CommandContext(t.Context(), reference, "-")
	cmd.Stdin = &script
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s after %d programs: %v", reference, bytes.Count(out, []byte("\n")), err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(sources) {
		t.Fatalf("%s answered %d of %d programs", reference, len(lines), len(sources))
	}
	return lines
}

// runProgram compiles and runs a program and returns what it emitted.
func runProgram(compile func(string) (*lua.FunctionProto, error), source string) (emitted string) {
	proto, err := compile(source)
	if err != nil {
		return "compile: " + err.Error()
	}
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clock.System()), Limits: vm.Limits{Instructions: stepsMax}})
	defer run.Close()
	lualib.New(nil).Open(run.Thread())
	vm.Materialize(run.Globals())
	L := run.Thread()
	n := natives{fuel: burnMax}
	n.register(L)
	defer func() {
		if r := recover(); r != nil {
			emitted = fmt.Sprintf("panic: %v", r)
		}
	}()
	if _, failure := run.Call(L.NewFunctionFromProto(proto)); failure != nil {
		n.out = append(n.out, "error")
	}
	return strings.Join(n.out, " ")
}

// natives are the functions that programs call.
type natives struct {
	out  []string
	fuel int
}

func (n *natives) register(L *lua.LState) {
	o := L.NewTable()
	o.RawSetString("plain", L.NewFunction(func(L *lua.LState) int { L.SetTop(1); return 1 }))
	o.RawSetString("method", L.NewFunction(func(L *lua.LState) int { L.SetTop(2); return 1 }))
	o.RawSetString("next", L.GetGlobal("next"))
	L.SetGlobal("o", o)
	emit := func(L *lua.LState) {
		for i := 1; i <= L.GetTop(); i++ {
			n.out = append(n.out, show(L.Get(i)))
		}
		n.out = append(n.out, ";")
	}
	for name, fn := range map[string]lua.LGFunction{
		"emit": func(L *lua.LState) int { emit(L); return 0 },
		"id":   func(L *lua.LState) int { return L.GetTop() },
		"tr":   func(L *lua.LState) int { L.SetTop(1); emit(L); return 1 },
		"two":  func(L *lua.LState) int { L.SetTop(1); L.Push(lua.LNumber(42)); return 2 },
		"key": func(L *lua.LState) int {
			key := 1.0
			if n := float64(L.CheckNumber(1)); n > -100 && n < 100 {
				key = math.Mod(math.Mod(math.Floor(n), 3)+3, 3) + 1
			}
			L.Push(lua.LNumber(key))
			return 1
		},
		"whole": func(L *lua.LState) int {
			whole := 1.0
			if n := float64(L.CheckNumber(1)); n > -1<<53 && n < 1<<53 {
				whole = math.Floor(n)
			}
			L.Push(lua.LNumber(whole))
			return 1
		},
		"long": func(L *lua.LState) int {
			t := L.NewTable()
			for i := 1; i <= L.CheckInt(1); i++ {
				t.RawSetInt(i, lua.LNumber(i))
			}
			L.Push(t)
			return 1
		},
		"none": func(L *lua.LState) int { return 0 },
		"burn": func(L *lua.LState) int {
			if n.fuel--; n.fuel < 0 {
				L.RaiseError("burnt")
			}
			return 0
		},
		"count": func(L *lua.LState) int {
			i, to := lua.LNumber(0), L.CheckNumber(1)
			L.Push(L.NewFunction(func(L *lua.LState) int {
				if i++; i <= to && i < 9 {
					L.Push(i)
					return 1
				}
				return 0
			}))
			return 1
		},
	} {
		L.SetGlobal(name, L.NewFunction(fn))
	}
}

func show(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		switch f := float64(v); {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		case f == 0:
			return "0"
		default:
			return fmt.Sprintf("%.9g", f*(1+1.0/(1<<40)))
		}
	case lua.LString, lua.LBool:
		return v.String()
	case nil:
		return "(nothing)"
	}
	return v.Type().String()
}

// countdown is a context that ends after a number of calls of Done, which the
// interpreter calls once per instruction.
type countdown struct {
	context.Context
	left int
	done chan struct{}
}

func newCountdown(steps int) *countdown {
	return &countdown{Context: context.Background(), left: steps, done: make(chan struct{})}
}

func (c *countdown) Done() <-chan struct{} {
	if c.left--; c.left == 0 {
		close(c.done)
	}
	return c.done
}

func (c *countdown) Err() error { return context.Canceled }
