// Package mutation holds mutation tests. Each mutant breaks one promise, by
// changing the line of code that keeps it in a copy of the file, and a test must
// fail.
package mutation

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutant is a change that breaks a promise, and the tests of which one must fail.
type mutant struct {
	promise  string
	file     string // below the root of the repository
	from, to string // from occurs exactly once in the file
	pkg, run string // the package and the -run pattern of the tests
}

// promises are those of locks, tables and deadlines.
var promises = []mutant{
	{"a release needs the owner", "native/db/memory/locks.go",
		"held.Owner != owner", "false",
		"./native/db/memory", "."},
	{"a release needs the owner, in a file", "native/db/sqlite/locks.go",
		"held.Owner != owner", "false",
		"./native/db/sqlite", "IsAnEngine"},
	{"a native call passes the gate", "native/vm/hook.go",
		"if r.kill != nil || r.check(now.Fast) {\n\t\tr.Interrupt()\n\t}\n\treturn now", "return now",
		"./native", "Gate"},
	{"a release doesn't end with the script", "native/lock/release.go",
		"ctx = vm.Detach(ctx)\n", "_ = vm.Detach\n",
		"./native/lock", "Release"},
	{"waiters of a process are served in order", "native/lock/queue.go",
		"s.waiters.PushBack(w)", "s.waiters.PushFront(w)",
		"./native/lock", "Order"},
	{"a tenant's partitions are its own", "tenant/tenant.go",
		`return string(id) + "/" + name`, `return "/" + name`,
		"./runtime", "Tenants"},
	{"the kill token names whose end it is", "native/vm/ends.go",
		"k.Limit == Deadline && k.owner == last", "k.Limit == Deadline",
		"./native/vm", "OuterEnd"},
	{"a function that returns too late has ended", "native/vm/ends.go",
		"r.kill = nil\n\t\tr.check(now)\n", "_ = now\n",
		"./native/vm", "AfterItsEnd"},
	{"a lease can't be suspended", "native/vm/coroutine.go",
		"if len(r.ends) > co.ends {", "if false {",
		"./native/vm", "Suspended"},
	{"a row outlives its lease by the guard", "native/lock/attempt.go",
		"ceilMillis(lease+lease/drift+guard)", "ceilMillis(lease)",
		"./native/lock", "Guard|Row"},
	{"an unknown write keeps the row", "native/lock/module.go",
		"if o.Unsettled {", "if false {",
		"./native/lock", "Script"},
	{"no heap address is shown", "native/vm/thread.go",
		"err.Object = withoutAddress(err.Object)\n", "",
		"./native/vm", "Address"},
}

// TestBrokenPromisesAreNoticed runs the tests of each promise on code that breaks
// it.
func TestBrokenPromisesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test for each mutant")
	}
	for _, m := range slices.Concat(promises, language, library, machine) {
		t.Run(m.promise, func(t *testing.T) {
			t.Parallel()
			overlay := patch(t, m.file, m.from, m.to)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-ldflags=-s -w", "-timeout", "300s", "-overlay", overlay, "-run", m.run, m.pkg)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			text := string(out)
			if strings.Contains(text, "test timed out") {
				t.Errorf("the test hangs instead of failing\n%.2000s", text)
			}
			if err == nil || !strings.Contains(text, "FAIL") || strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") {
				t.Errorf("no test fails: %v\n%s", err, text)
			}
		})
	}
}

// patch returns a build overlay in which from is replaced by to in one file.
func patch(t *testing.T, file, from, to string) string {
	t.Helper()
	real, err := filepath.Abs(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), from); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, from, n)
	}
	dir := t.TempDir()
	patched, overlay := filepath.Join(dir, "patched.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{real: patched}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{patched: strings.Replace(string(text), from, to, 1), overlay: string(list)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
