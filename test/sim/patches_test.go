package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// patch is a mutation of the protocol's own text.
type patch struct {
	name     string
	file     string   // below the root of the repository
	changes  []string // each text, and what takes its place
	violates property
}

var patches = []patch{
	{"the clocks are never re-based", "native/clock/dual.go", []string{
		"MaxDivergence = 10 * time.Millisecond",
		"MaxDivergence = 1 << 62",
	}, exclusion},
	{"leases on the monotonic clock alone", "native/clock/dual.go", []string{
		"r.ElapsedMax = b.elapsedMax + max(wall, mono, 0)",
		"r.ElapsedMax = b.elapsedMax + max(mono, 0)",
	}, exclusion},
	{"leases on the wall clock alone", "native/clock/dual.go", []string{
		"r.ElapsedMax = b.elapsedMax + max(wall, mono, 0)",
		"r.ElapsedMax = b.elapsedMax + max(wall, 0)",
	}, exclusion},
	{"an owner is used again after a delete", "native/lock/attempt.go", []string{
		"a.req.HostEnd)\n\ta.renewOwner()\n",
		"a.req.HostEnd)\n\ta.inDoubt = nil\n",
	}, exclusion},
	{"the probe has the call's own owner", "native/lock/attempt.go", []string{
		"a.delete(ctx, a.req.Key, newOwner(), ",
		"a.delete(ctx, a.req.Key, a.owner, ",
	}, exclusion},
	{"turn's lease counted from the answer", "native/lock/attempt.go", []string{
		"end := p.leaseFrom + a.req.holderLease()\n",
		"end := p.leaseFrom + a.req.holderLease()\n\tif a.req.Turn {\n\t\tend = now.ElapsedMax + a.req.holderLease()\n\t}\n",
	}, exclusion},
	{"a put is believed although its answer contradicts the time", "native/lock/attempt.go", []string{
		"case a.time.At(now).Epoch != a.epoch:",
		"case false:",
	}, exclusion},
	{"start is the earliest", "native/lock/attempt.go", []string{
		"ceilUnixMilli(a.time.At(from).Latest)",
		"ceilUnixMilli(a.time.At(from).Earliest)",
	}, exclusion},
	{"the answer's date is taken for exact", "native/lock/tableclock.go", []string{
		"dateLag    = time.Second + dateSpread",
		"dateLag    = 0",
	}, exclusion},
	{"a put before the time is known", "native/lock/tableclock.go", []string{
		"return i.Epoch > 0 && i.Latest.Sub(i.Earliest) <= knownWidthMax",
		"return true",
	}, termination},
	{"a put before the time is known, and believed", "native/lock/attempt.go", []string{
		"if !interval.Known() {\n\t\tr :=",
		"if false {\n\t\tr :=",
		"case a.time.At(now).Epoch != a.epoch:",
		"case a.epoch != 0 && a.time.At(now).Epoch != a.epoch:",
	}, exclusion},
	{"a contradiction is averaged in", "native/lock/tableclock.go", []string{
		"if c.epoch == 0 || seen.Earliest.After(known.Latest) || seen.Latest.Before(known.Earliest) {",
		"if c.epoch == 0 {",
	}, exclusion},
	{"all calls have one owner", "native/lock/acquisition.go", []string{
		"\trand.Read(b[:])",
		"\trand.Read(b[:0])",
	}, exclusion},
	{"a lease begins with nothing left", "native/lock/attempt.go", []string{
		"case now.ElapsedMax >= end:",
		"case false:",
	}, leaseBound},
	{"only the first attempt is paid for", "native/lock/attempt.go", []string{
		"if err := a.req.spend(); err != nil {",
		"if err := a.req.spend(); err != nil && a.attempts == 1 {",
	}, budget},
	{"an error is told as a refusal", "native/lock/acquisition.go", []string{
		"a.cleanUp(ctx)\n\treturn nil, a.lastErr",
		"a.cleanUp(ctx)\n\treturn nil, ErrHeld",
	}, refusal},
	{"an attempt has no time limit", "native/lock/attempt.go", []string{
		"return min(attemptMax, left)",
		"return min(time.Hour, left+time.Hour)",
	}, termination},
	{"a release has no time limit", "native/lock/release.go", []string{
		"releaseMax      = 2 * time.Second",
		"releaseMax      = time.Minute",
	}, termination},
	{"a refused caller keeps its slot in the queue", "native/lock/locks.go", []string{
		"if err != nil {\n\t\t\tl.rows",
		"if err != nil && err != ErrHeld {\n\t\t\tl.rows",
	}, termination},
	{"a timer is not stopped", "native/lock/release.go", []string{
		"defer cancel()",
		"_ = cancel",
	}, termination},
}

// TestPatchesAreCaught builds the test of the seeds with one patched file, and
// requires it to fail.
func TestPatchesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the test again for each patch")
	}
	for _, p := range patches {
		t.Run(p.name, func(t *testing.T) {
			out, err := testSeeds(p.violates, "-overlay", p.overlay(t))
			caught := regexp.MustCompile(`seed \d+: .*`).Find(out)
			if err == nil || caught == nil {
				t.Fatalf("got %v, want a seed that fails:\n%s", err, out)
			}
			t.Logf("caught by %s", caught)
		})
	}
}

// overlay writes the patched file and the list that go reads it from.
func (p patch) overlay(t *testing.T) string {
	t.Helper()
	real, err := filepath.Abs(filepath.Join("../..", p.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	for change := range slices.Chunk(p.changes, 2) {
		if n := strings.Count(string(text), change[0]); n != 1 {
			t.Fatalf("%s has %q %d times, want it once: the patch is out of date", p.file, change[0], n)
		}
		text = []byte(strings.Replace(string(text), change[0], change[1], 1))
	}
	dir := t.TempDir()
	patched := filepath.Join(dir, filepath.Base(p.file))
	write(t, patched, text)
	list, err := json.Marshal(map[string]map[string]string{"Replace": {real: patched}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, list)
	return overlay
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
