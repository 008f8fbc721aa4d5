//go:build linux

package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// bombs are scripts that take all memory that they can get.
var bombs = map[string]string{
	"an array":                    `for i = 1, 1e9 do t[i] = i + 0.5 end`,
	"arrays filled to an index":   `for i = 1, 1e9 do t[i] = {} t[i][1048575] = 1 end`,
	"string keys":                 `for i = 1, 1e9 do t["k" .. i] = true end`,
	"deleted string keys":         `for i = 1, 1e9 do t["k" .. i] = true t["k" .. i] = nil end`,
	"other keys":                  `for i = 1, 1e9 do t[i + 0.5] = true end`,
	"closures":                    `for i = 1, 1e9 do t[i] = function() return i end end`,
	"a string doubled":            `local s = "x" while true do s = s .. s end`,
	"a string seven times itself": `local s = "x" while true do s = s .. s .. s .. s .. s .. s .. s end`,
	"a chain of strings":          `local s = "x" while true do s = s .. s .. s .. s .. s .. s .. s .. s end`,
	"strings of one megabyte":     `local s = ("x"):rep(1e6) for i = 1, 1e9 do t[i] = s .. i end`,
	"strings of the library":      `for i = 1, 1e9 do t[i] = ("x"):rep(1e6) end`,
	"pieces of strings":           `for i = 1, 1e9 do t[i] = ("x"):rep(1e6):sub(1, 10) end`,
	"results of gsub":             `for i = 1, 1e9 do t[i] = (("x"):rep(5e5):gsub("x", "yy")) end`,
	"captures":                    `for i = 1, 1e9 do t[i] = (i .. ("x"):rep(1e6)):match("^%d+") .. "" end`,
	"gmatch's subjects":           `for i = 1, 1e9 do t[i] = ("x"):rep(1e6):gmatch(".") end`,
	"coroutines":                  `for i = 1, 1e9 do local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co) t[i] = co end`,
	"coroutines with a stack":     `local function deep(n) local t = {} if n == 0 then coroutine.yield() return t end return (deep(n - 1)) end for i = 1, 1e9 do local co = coroutine.wrap(function() deep(500) end) co() t[i] = co end`,
	"coroutines not yet begun":    `for i = 1, 1e9 do local s = ("x"):rep(1e6) t[i] = coroutine.wrap(function() return s end) end`,
	"nested tables":               `while true do t[1] = {} t = t[1] end`,
	"chunks":                      `for i = 1, 1e9 do t[i] = loadstring("local x = " .. i .. " return function() return x end") end`,
}

// bombEnv is the environment variable with the script that a child process runs.
const bombEnv = "TIDELOCK_TEST_BOMB"

// bombResult is the result of a bomb and of the run of another tenant beside it.
type bombResult struct {
	Type, Message, Neighbour string
	Took                     time.Duration
	Resident                 int64 // peak, in KiB
}

func TestMemoryBombIsStoppedAlone(t *testing.T) {
	if script := os.Getenv(bombEnv); script != "" {
		_ = json.NewEncoder(os.Stdout).Encode(runBomb(t, script))
		return
	}
	scripts := map[string]string{}
	for name, body := range bombs {
		scripts[name] = "t = {} local t = t " + body
	}
	files, err := filepath.Glob("testdata/memory/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[filepath.Base(file)] = "local function arm() end " + string(text)
	}
	binary := plainBinary(t)
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			got := inChild(t, binary, script)
			t.Logf("%s after %v, at most %d MiB: %s", got.Type, got.Took.Round(time.Millisecond), got.Resident>>10, got.Message)
			switch runtime.ErrorType(got.Type) {
			case "", runtime.LimitExceeded, runtime.Timeout, runtime.RuntimeError:
				if _, bomb := bombs[name]; bomb && got.Type != string(runtime.LimitExceeded) && got.Type != string(runtime.Timeout) {
					t.Errorf("got %+v, want it to exceed a limit", got)
				}
			default:
				t.Errorf("got %+v", got)
			}
			if got.Neighbour != "500000" {
				t.Errorf("the run beside it ended with %s, want 500000", got.Neighbour)
			}
			most := int64(residentMax)
			if strings.HasPrefix(name, "coroutines") {
				most = coroutinesMax
			}
			if got.Resident<<10 > most {
				t.Errorf("the process took %d MiB, want at most %d", got.Resident>>10, most>>20)
			}
		})
	}
}

// residentMax is far above the limit of a run (128 MiB), its temporary excess
// (64 MiB), and the rest of the process: itself, the run beside it, and garbage
// that the collector hasn't reached on a busy machine. A bomb without limits
// takes gigabytes.
const residentMax = 512 << 20

// coroutinesMax is for bombs of coroutines, which may have a million here instead
// of a thousand. When they are unwound, the Go stack of each grows, and the
// memory limit doesn't count that.
const coroutinesMax = 1 << 30

// plainBinary returns a binary of these tests without the race detector, which
// takes several times the memory.
func plainBinary(t *testing.T) string {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	if info == nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Args[0]
	}
	binary := filepath.Join(t.TempDir(), "plain.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// inChild runs a bomb in a process of its own.
func inChild(t *testing.T, binary, script string) (r bombResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestMemoryBombIsStoppedAlone$")
	cmd.Env = append(os.Environ(), bombEnv+"="+script, "GOMEMLIMIT=1GiB", "GOGC=10")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the process ended with %v", err)
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

// resident returns the peak memory of this process in KiB.
func resident(t *testing.T) (size int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &size); err != nil {
		t.Fatal(err)
	}
	return size
}

// runBomb runs a bomb beside a run of another tenant.
func runBomb(t *testing.T, script string) bombResult {
	engine := watchedEngine(512 << 20)
	var beside sync.WaitGroup
	var got bombResult
	beside.Go(func() {
		r := engine.Run(t.Context(), runtime.Invocation{Tenant: "quiet", Script: "beside.lua", Log: discard{}, Source: `
			local n = 0
			for i = 1, 500000 do local x = {i} n = n + #x end
			return n`, Limits: tenant.Limits{Timeout: time.Minute}})
		got.Neighbour = string(r.JSON) + message(r)
	})
	r := engine.Run(t.Context(), runtime.Invocation{Tenant: "bomb", Script: "bomb.lua", Source: script, Log: discard{},
		Limits: tenant.Limits{Timeout: 5 * time.Second, Coroutines: 1e6}})
	got.Took = r.Duration
	if got.Message = message(r); r.Error != nil {
		got.Type = string(r.Error.Type)
	}
	beside.Wait()
	got.Resident = resident(t)
	return got
}

func TestMemoryLimitIsEachRunsOwn(t *testing.T) {
	engine := watchedEngine(0)
	const source = `
		local t = {}
		for i = 1, 150 do t[i] = ("x"):rep(1e6) end
		return #t`
	for _, test := range []struct {
		limit int64
		want  string
	}{
		{64 << 20, "the run exceeded its limit memory of 67108864 bytes"},
		{256 << 20, ""},
	} {
		r := engine.Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "hold.lua", Source: source, Log: discard{},
			Limits: tenant.Limits{MemoryBytes: test.limit, Timeout: time.Minute}})
		if got := message(r); got != test.want {
			t.Errorf("limit %d: got %q, want %q", test.limit, got, test.want)
		}
	}
}

func TestMemoryOfGarbageDoesNotCount(t *testing.T) {
	r := watchedEngine(0).Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "garbage.lua", Log: discard{}, Source: `
		local t = {}
		for i = 1, 192 do t[i] = ("x"):rep(1e5) end
		for i = 1, 4000 do local garbage = t[i % 192 + 1] .. i end
		return #t`, Limits: tenant.Limits{MemoryBytes: 32e6, Timeout: time.Minute}})
	if got := string(r.JSON) + message(r); got != "192" {
		t.Errorf("got %s, want 192 from a run at 60 %% of its limit", got)
	}
}

func TestCollectGarbageCountsWhatTheRunHolds(t *testing.T) {
	r := watchedEngine(0).Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "count.lua", Log: discard{}, Source: `
		local before = collectgarbage("count")
		local s = ("x"):rep(1024 * 1024)
		for i = 1, 100000 do end
		local now = collectgarbage("count")
		return { now - before > 1000 and now - before < 1050, #s }`})
	if got, want := string(r.JSON)+message(r), "[true,1048576]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMemoryIncludesWhatFunctionsKeep(t *testing.T) {
	for name, source := range map[string]string{
		"gmatch":  `kept = ("x"):rep(1024 * 1024):gmatch(".")`,
		"wrap":    `local s = ("x"):rep(1024 * 1024) kept = coroutine.wrap(function() return s end)`,
		"require": `require("holder").it = ("x"):rep(1024 * 1024)`,
	} {
		r := watchedEngine(0).Run(t.Context(), runtime.Invocation{Tenant: "a", Script: "count.lua", Log: discard{},
			Scripts: []fs.FS{fstest.MapFS{"holder.lua": {Data: []byte("return {}")}}},
			Source: `local before = collectgarbage("count") ` + source + `
			for i = 1, 100000 do end
			return math.floor(collectgarbage("count") - before)`})
		if got := string(r.JSON) + message(r); len(got) != 4 || got < "1000" || got > "1100" {
			t.Errorf("%s: got %s, want about 1024 KiB held", name, got)
		}
	}
}

func watchedEngine(processBytes int64) *runtime.Engine {
	return runtime.New(runtime.Config{Modules: []native.Module{coremodule.New()}, Memory: vm.NewMemoryWatcher(processBytes)})
}

func message(r *runtime.Result) string {
	if r.Error == nil {
		return ""
	}
	return fmt.Sprintf("%.200s", r.Error.Message)
}
