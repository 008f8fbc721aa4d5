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
	{"an addition of unknown outcome is not repeated", "native/db/write.go",
		"c.unknownMax = 0", "c.unknownMax = 1",
		"./native/db", "TestWriteUnderEachFault"},
	{"a write knows what an earlier attempt has stored", "native/db/write.go",
		"case w.Rev != \"\" && row != nil && row.Rev == w.Rev:", "case false:",
		"./native/db", "TestWriteUnderEachFault"},
	{"the checksum of an answer is compared", "native/db/dynamo/answer.go",
		"uint32(want) != got", "uint32(want) != got && false",
		"./native/db/dynamo", "TestAnswerDecides"},
	{"an answer has the service's request id", "native/db/dynamo/answer.go",
		`r.Header.Get(headerRequestID) == ""`, "false",
		"./native/db/dynamo", "TestAnswerDecides"},
	{"an answer that comes again is not believed", "native/db/dynamo/answer.go",
		"!c.answers.add(id)", "!c.answers.add(id) && false",
		"./native/db/dynamo", "TestAnswerThatComesAgainIsNotBelieved"},
	{"a read can't be refused", "native/db/dynamo/errors.go",
		"&& c != trip.refusal", "&& false",
		"./native/db/dynamo", "TestAnswerMustFitItsRequest"},
	{"a success has a checksum", "native/db/dynamo/answer.go",
		`r.StatusCode == http.StatusOK && r.Header.Get(headerChecksum) == ""`, "false",
		"./native/db/dynamo", "TestAnswerDecides"},
	{"an answer fits its request", "native/db/dynamo/shape.go",
		`err = names.require("Items", "Count", "ScannedCount")`, "_ = names.require",
		"./native/db/dynamo", "TestAnswerMustFitItsRequest"},
	{"an item is the one of the key", "native/db/dynamo/shape.go",
		"got := rowKey(item); got != key", "got := rowKey(item); false",
		"./native/db/dynamo", "TestAnswerMustFitItsRequest"},
	{"a rejection that broke off was not applied", "native/db/dynamo/errors.go",
		`return outcome.NotApplied, unavailable(true, errors.Join(trip.asError(), err),`, `return outcome.NotApplied, unavailable(false, errors.Join(trip.asError(), err),`,
		"./native/db/dynamo", "TestAnswerDecides"},
	{"a signature that came too late is renewed", "native/db/dynamo/errors.go",
		"case c == denied && isOutdated(trip, failure):", "case false:",
		"./native/db/dynamo", "Signature"},
	{"no script opens a reserved partition", "native/db/names.go",
		"^[A-Za-z0-9]", "^[!A-Za-z0-9]",
		"./native/db", "TestReserved"},
	{"a native call begins with an interrupt check", "native/vm/interrupt.go",
		"if r.interrupt != nil || r.checkLimits(now.ElapsedMax) {\n\t\tr.RaiseInterrupt()\n\t}\n\treturn now", "return now",
		"./native", "TestCallIsNotMadeAfterItsDeadline"},
	{"a release doesn't end with the script", "native/lock/release.go",
		"ctx = clock.Detach(ctx)\n\tend", "_ = clock.Detach\n\tend",
		"./native/lock", "Release"},
	{"waiters of a process are served in order", "native/lock/queue.go",
		"s.waiters.PushBack(w)", "s.waiters.PushFront(w)",
		"./native/lock", "Order"},
	{"a tenant's partitions are its own", "tenant/tenant.go",
		`return string(id) + "/" + name`, `return "/" + name`,
		"./runtime", "Tenants"},
	{"an interrupt names the frame that it belongs to", "native/vm/within.go",
		"i.Cause != Deadline || i.owner != len(r.deadlines)", "i.Cause != Deadline",
		"./native/vm", "TestDeadlineOutsideWins"},
	{"a deadline expires even if the function returns late", "native/vm/within.go",
		"r.interrupt = nil\n\t\tif r.checkLimits(now) && before != nil {", "if false {",
		"./native/vm", "TestDeadlineExpires"},
	{"a lease can't be suspended", "native/vm/coroutine.go",
		"if len(r.deadlines) > co.deadlinesAtResume {", "if false {",
		"./native/vm", "TestYieldCannotSuspendALease"},
	{"a row outlives its lease by the guard", "native/lock/row.go",
		"ceilMillis(lease+lease/driftRatio+guard)", "ceilMillis(lease)",
		"./native/lock", "Guard|Row"},
	{"a write in doubt keeps the row", "native/module/lockmodule/module.go",
		"if result.InDoubt {", "if false {",
		"./native/module/lockmodule", "Script"},
	{"no heap address is shown", "native/vm/call.go",
		"err.Object = withoutAddress(err.Object)\n", "",
		"./native/vm", "Address"},
}

// TestMutationsAreNoticed runs the tests of each promise on code that breaks
// it.
func TestMutationsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test for each mutant")
	}
	for _, m := range slices.Concat(promises, language, library, machine, answers, network, operators) {
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
