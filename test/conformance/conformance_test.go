package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// suite returns the folder of gopher-lua's source.
var suite = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/gopher-lua").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// files returns the names of all test files below the suite.
func files(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir, err := suite()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"_lua5.1-tests/*.lua", "_glua-tests/*.lua"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil || len(found) < 10 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		names = append(names, found...)
	}
	return dir, names
}

// discard drops what a file prints.
type discard struct{}

func (discard) Log(string, string, value.Map) {}

// try runs a file's text as a script and returns how it failed, or "".
func try(ctx context.Context, dir, name, text string) string {
	engine := runtime.New(runtime.Config{Modules: []native.Module{coremodule.New()}, Memory: vm.NewMemoryWatcher(0)})
	r := engine.Run(ctx, runtime.Invocation{
		Tenant: "lua", Script: filepath.Base(name), Source: text, Log: discard{},
		Scripts: []fs.FS{os.DirFS(filepath.Join(dir, filepath.Dir(name)))},
		Limits:  tenant.Limits{Timeout: 10 * time.Minute, MemoryBytes: 512 << 20},
	})
	switch {
	case len(r.Incidents) > 0:
		return fmt.Sprintf("incidents: %v", r.Incidents)
	case r.Error != nil:
		return fmt.Sprintf("%v %v", r.Error, r.Error.Stack)
	}
	return ""
}

// edit applies change to the parts of a file, except number except.
func edit(name string, lines []string, parts []part, except int, change func([]string, part)) error {
	for i, p := range parts {
		if p.file != name || i == except {
			continue
		}
		first, last, err := find(lines, p)
		if err != nil {
			return err
		}
		change(lines[first:last+1], p)
	}
	return nil
}

// find returns the first and the last line of a part.
func find(lines []string, p part) (first, last int, err error) {
	first = -1
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), p.from) {
			if first >= 0 {
				return 0, 0, fmt.Errorf("lines %d and %d of %s begin with %s", first+1, i+1, p.file, p.from)
			}
			first = i
		}
	}
	if first < 0 {
		return 0, 0, fmt.Errorf("no line of %s begins with %s", p.file, p.from)
	}
	if p.to == "" {
		return first, first, nil
	}
	for last = first; last < len(lines); last++ {
		if strings.HasPrefix(strings.TrimSpace(lines[last]), p.to) {
			return first, last, nil
		}
	}
	return 0, 0, fmt.Errorf("no line of %s behind line %d begins with %s", p.file, first+1, p.to)
}

// leaveOut replaces the lines of a part and keeps line numbers.
func leaveOut(lines []string, p part) {
	clear(lines)
	lines[0] = p.with
}

// restore turns comments into code.
func restore(lines []string, _ part) {
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimSpace(line), "--")
	}
}

// prepared reads a file and applies both lists, except entry number except of
// leftOut.
func prepared(t *testing.T, dir, name string, except int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if err := edit(name, lines, restored, -1, restore); err != nil {
		t.Error(err)
	}
	if err := edit(name, lines, leftOut, except, leaveOut); err != nil {
		t.Error(err)
	}
	return strings.Join(lines, "\n")
}

func TestSuitePasses(t *testing.T) {
	dir, names := files(t)
	for _, name := range names {
		if leftOutFiles[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text := prepared(t, dir, name, -1)
			if got := try(t.Context(), dir, name, text); got != "" {
				t.Error(got)
			}
			if strings.HasPrefix(name, "_lua5.1-tests/") {
				inLua51(t, dir, name, text)
			}
		})
	}
}

// inLua51 runs a prepared file with lua5.1: what replaces a part must hold there
// too.
func inLua51(t *testing.T, dir, name, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if err := edit(name, lines, notInLua51, -1, leaveOut); err != nil {
		t.Error(err)
	}
	cmd := exec.CommandContext(t.Context(), "lua5.1", "-")
	cmd.Dir, cmd.Stdin = filepath.Join(dir, filepath.Dir(name)), strings.NewReader(strings.Join(lines, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("lua5.1: %v\n%s", err, out[max(0, len(out)-1000):])
	}
}

func TestLeftOutPartsFail(t *testing.T) {
	dir, names := files(t)
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for name := range leftOutFiles {
		if !known[name] {
			t.Errorf("there is no %s to leave out", name)
		}
	}
	for i, p := range leftOut {
		t.Run(fmt.Sprintf("%s: %.40s", p.file, p.from), func(t *testing.T) {
			t.Parallel()
			if p.why == "" {
				t.Error("it has no reason")
			}
			if try(t.Context(), dir, p.file, prepared(t, dir, p.file, i)) == "" {
				t.Errorf("%s passes with it: remove it from the list", p.file)
			}
		})
	}
}
