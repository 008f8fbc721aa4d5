//go:build linux

// Package probes runs scripts that break, hang, crash or fool plain gopher-lua
// 1.1.2, one per file of testdata, and requires each to end by itself without
// harm to its process or to a script beside it.
package probes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/core"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

const (
	// timeout is what each script may take.
	timeout = time.Second
	// hangs is after how long a process hangs for certain, on any machine.
	hangs = 30 * time.Second
	// residentMax is the most memory that a process may ever have had.
	residentMax = 1 << 30
)

// goInside are words that only Go's runtime says.
var goInside = []string{"goroutine ", "panic:", "fatal error", ".go:", "runtime error"}

// build makes the program, without the race detector, which takes several
// times the memory.
func build(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tidelock")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/tidelock").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// scripts returns the names of all probes.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	return files
}

func TestTheProgramSurvivesEachScript(t *testing.T) {
	program := build(t)
	var mu sync.Mutex
	type life struct {
		file     string
		took     time.Duration
		resident int64
	}
	var lives []life
	t.Run("all", func(t *testing.T) {
		for _, file := range scripts(t) {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), hangs)
				defer cancel()
				cmd := exec.CommandContext(ctx, program, "run", file, "--timeout", timeout.String(), "--db", filepath.Join(t.TempDir(), "db"))
				cmd.Env = append(os.Environ(), "GOMEMLIMIT=1GiB")
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				began := time.Now()
				err := cmd.Run()
				took := time.Since(began)
				var exit *exec.ExitError
				if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
					t.Fatalf("it didn't end by itself: %v", err)
				}
				if code := cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 1, 124}, code) {
					t.Errorf("it ended with %d, want 0, 1 or 124", code)
				}
				for _, text := range []string{stdout.String(), stderr.String()} {
					for _, word := range goInside {
						if strings.Contains(text, word) {
							t.Errorf("it shows Go's inside:\n%.3000s", text)
						}
					}
				}
				resident := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
				if resident >= residentMax {
					t.Errorf("it took %d MiB, want less than %d", resident>>20, residentMax>>20)
				}
				mu.Lock()
				defer mu.Unlock()
				lives = append(lives, life{file, took, resident})
			})
		}
	})
	slowest := slices.MaxFunc(lives, func(a, b life) int { return int(a.took - b.took) })
	largest := slices.MaxFunc(lives, func(a, b life) int { return int(a.resident - b.resident) })
	t.Logf("%d scripts; the slowest, %s, ended %v after its timeout; the largest, %s, took %d MiB", len(lives),
		filepath.Base(slowest.file), slowest.took-timeout, filepath.Base(largest.file), largest.resident>>20)
}

// neighbour counts, keeps data of its own and looks whether it still has them,
// and whether its library is the one it began with.
const neighbour = `
local own, sum = {}, 0
local upper, len = string.upper, ("").len
for i = 1, 60000 do
  own[i % 100 + 1] = { n = i, text = "own " .. i }
  sum = sum + i
  local kept = own[(i - 1) % 100 + 1]
  assert(i == 1 or kept.n == i - 1 and kept.text == "own " .. i - 1, "data")
  assert(i % 1000 > 0 or ("x"):upper() == "X" and string.upper == upper and ("").len == len, "library")
end
return { sum = sum, globals = foo == nil and x == nil and leaked == nil }`

const neighbourWants = `{"globals":true,"sum":1800030000}`

// quiet drops what scripts log.
type quiet struct{}

func (quiet) Log(string, string, native.Map) {}

// TestANeighbourIsNotHarmed runs each script beside one of another tenant, all
// of them in this process.
func TestANeighbourIsNotHarmed(t *testing.T) {
	engine := runtime.New(runtime.Config{Modules: []native.Module{core.New()}, Guard: vm.NewGuard(512 << 20)})
	run := func(id tenant.ID, source string, limit time.Duration) *runtime.Result {
		return engine.Run(t.Context(), runtime.Invocation{Tenant: id, Script: "probe.lua", Source: source, Log: quiet{},
			Limits: tenant.Limits{Timeout: limit}})
	}
	for _, file := range scripts(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var beside *runtime.Result
			var group sync.WaitGroup
			group.Go(func() { beside = run("quiet", neighbour, time.Minute) })
			r := run("hostile", string(source), timeout/4)
			group.Wait()
			if beside.Error != nil || string(beside.JSON) != neighbourWants {
				t.Errorf("the neighbour ended with %s%v, want %s", beside.JSON, beside.Error, neighbourWants)
			}
			if r.Error == nil {
				return
			}
			switch r.Error.Type {
			case runtime.SyntaxError, runtime.RuntimeError, runtime.Timeout, runtime.LimitExceeded, runtime.NotSerializable:
			default:
				t.Errorf("it ended with %v", r.Error)
			}
			for _, word := range goInside {
				if strings.Contains(r.Error.Error(), word) {
					t.Errorf("it ended with %v", r.Error)
				}
			}
		})
	}
}

func TestNothingOfTheHostIsThere(t *testing.T) {
	engine := runtime.New(runtime.Config{Modules: []native.Module{core.New()}})
	for _, name := range []string{
		"io", "package", "channel", "dofile", "loadfile", "module", "newproxy", "gcinfo", "_printregs",
		"os.getenv", "os.setenv", "os.execute", "os.exit", "os.remove", "os.rename", "os.tmpname", "os.setlocale",
		"string.dump", "debug.getinfo", "debug.getlocal", "debug.setlocal", "debug.getupvalue", "debug.setupvalue",
		"debug.getmetatable", "debug.setmetatable", "debug.getfenv", "debug.setfenv", "debug.sethook",
	} {
		r := engine.Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "look.lua", Log: quiet{}, Source: "return type(" + name + ")"})
		if got := string(r.JSON); got != `"nil"` {
			t.Errorf("%s: got %s%v, want nil", name, got, r.Error)
		}
	}
}
