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
	name    string
	file    string   // below the root of the repository
	changes []string // each text, and what takes its place
	breaks  property
}

var patches = []patch{
	{"hands never re-based", "native/vm/clock.go", []string{
		"handsApart = 10 * time.Millisecond",
		"handsApart = 1 << 62",
	}, exclusion},
	{"leases on the monotonic clock alone", "native/vm/clock.go", []string{
		"r.Fast = b.fast + max(wall, mono, 0)",
		"r.Fast = b.fast + max(mono, 0)",
	}, exclusion},
	{"leases on the wall clock alone", "native/vm/clock.go", []string{
		"r.Fast = b.fast + max(wall, mono, 0)",
		"r.Fast = b.fast + max(wall, 0)",
	}, exclusion},
	{"owner used again after a delete", "native/lock/attempt.go", []string{
		"a.req.HostEnd)\n\ta.renew()\n",
		"a.req.HostEnd)\n\ta.open = nil\n",
	}, exclusion},
	{"time asked for with the call's own owner", "native/lock/attempt.go", []string{
		"a.delete(ctx, a.req.Key, newOwner(), ",
		"a.delete(ctx, a.req.Key, a.owner, ",
	}, exclusion},
	{"turn's lease counted from the answer", "native/lock/attempt.go", []string{
		"end := t.from + a.req.runFor()\n",
		"end := t.from + a.req.runFor()\n\tif a.req.Turn {\n\t\tend = now.Fast + a.req.runFor()\n\t}\n",
	}, exclusion},
	{"put believed although its answer contradicts the time", "native/lock/attempt.go", []string{
		"case a.time.At(now).Era != a.era:",
		"case false:",
	}, exclusion},
	{"start is the earliest", "native/lock/attempt.go", []string{
		"stampUp(a.time.At(from).Latest)",
		"stampUp(a.time.At(from).Earliest)",
	}, exclusion},
	{"the answer's date taken for exact", "native/lock/tableclock.go", []string{
		"dateLate   = time.Second + dateSpread",
		"dateLate   = 0",
	}, exclusion},
	{"put before the time is known", "native/lock/tableclock.go", []string{
		"return w.Era > 0 && w.Latest.Sub(w.Earliest) <= knownWithin",
		"return true",
	}, termination},
	{"put before the time is known, and believed", "native/lock/attempt.go", []string{
		"if !w.Known() {\n\t\tbefore",
		"if false {\n\t\tbefore",
		"case a.time.At(now).Era != a.era:",
		"case a.era != 0 && a.time.At(now).Era != a.era:",
	}, exclusion},
	{"a contradiction is averaged in", "native/lock/tableclock.go", []string{
		"if c.era == 0 || seen.Earliest.After(known.Latest) || seen.Latest.Before(known.Earliest) {",
		"if c.era == 0 {",
	}, exclusion},
	{"no owner of its own for each call", "native/lock/attempt.go", []string{
		"\trand.Read(b[:])",
		"\trand.Read(b[:0])",
	}, exclusion},
	{"a lease begins with nothing left", "native/lock/attempt.go", []string{
		"case now.Fast >= end:",
		"case false:",
	}, leaseBound},
	{"only the first attempt is paid for", "native/lock/attempt.go", []string{
		"if err := a.req.spend(); err != nil {",
		"if err := a.req.spend(); err != nil && a.started == 1 {",
	}, budget},
	{"trouble is told as a refusal", "native/lock/attempt.go", []string{
		"a.giveUp(ctx)\n\treturn nil, a.failed",
		"a.giveUp(ctx)\n\treturn nil, nil",
	}, refusal},
	{"an attempt takes as long as it takes", "native/lock/attempt.go", []string{
		"return min(attemptMax, left)",
		"return min(time.Hour, left+time.Hour)",
	}, termination},
	{"a release takes as long as it takes", "native/lock/release.go", []string{
		"releaseMax   = 2 * time.Second",
		"releaseMax   = time.Minute",
	}, termination},
	{"a refused caller keeps its place in the queue", "native/lock/lease.go", []string{
		"if lease == nil {\n\t\t\tl.rows",
		"if lease == nil && err != nil {\n\t\t\tl.rows",
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
			out, err := testSeeds(p.breaks, "-overlay", p.overlay(t))
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
