package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// patch is a mutation of the protocol's own text.
type patch struct {
	name     string
	file     string // below the root of the repository
	from, to string
	breaks   promise
}

var patches = []patch{
	{"hands never re-based", "native/vm/clock.go",
		"handsApart = 10 * time.Millisecond",
		"handsApart = 1 << 62",
		excludes},
	{"leases on the monotonic clock alone", "native/vm/clock.go",
		"r.Fast = b.fast + max(wall, mono, 0)",
		"r.Fast = b.fast + max(mono, 0)",
		excludes},
	{"leases on the wall clock alone", "native/vm/clock.go",
		"r.Fast = b.fast + max(wall, mono, 0)",
		"r.Fast = b.fast + max(wall, 0)",
		excludes},
	{"owner used again after a delete", "native/lock/attempt.go",
		"a.req.HostEnd)\n\ta.renew()\n",
		"a.req.HostEnd)\n\ta.open = nil\n",
		excludes},
	{"time asked for with the call's own owner", "native/lock/attempt.go",
		"a.delete(ctx, a.req.Key, newOwner(), ",
		"a.delete(ctx, a.req.Key, a.owner, ",
		excludes},
	{"turn's lease counted from the answer", "native/lock/attempt.go",
		"end := t.from + a.req.runFor()\n",
		"end := t.from + a.req.runFor()\n\tif a.req.Turn {\n\t\tend = now.Fast + a.req.runFor()\n\t}\n",
		excludes},
	{"put believed although its answer contradicts the time", "native/lock/attempt.go",
		"case a.time.At(now).Era != a.era:",
		"case false:",
		excludes},
	{"start is the earliest", "native/lock/attempt.go",
		"stampUp(a.time.At(from).Latest)",
		"stampUp(a.time.At(from).Earliest)",
		excludes},
	{"the answer's date taken for exact", "native/lock/tableclock.go",
		"dateLate   = time.Second + dateSpread",
		"dateLate   = 0",
		excludes},
	{"put before the time is known", "native/lock/tableclock.go",
		"return w.Era > 0 && w.Latest.Sub(w.Earliest) <= knownWithin",
		"return true",
		ends},
	{"a contradiction is averaged in", "native/lock/tableclock.go",
		"if c.era == 0 || seen.Earliest.After(known.Latest) || seen.Latest.Before(known.Earliest) {",
		"if c.era == 0 {",
		excludes},
}

// TestPatchesAreCaught builds the test of the seeds with one patched file, and
// requires it to fail.
func TestPatchesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the test again for each patch")
	}
	for _, p := range patches {
		t.Run(p.name, func(t *testing.T) {
			overlay := p.overlay(t)
			cmd := exec.Command("go", "test", "-count=1", "-overlay", overlay, "-run", "^TestSeeds$",
				".", "-seeds", strconv.FormatUint(*seeds, 10), "-promise", string(p.breaks))
			out, err := cmd.CombinedOutput()
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
	if n := strings.Count(string(text), p.from); n != 1 {
		t.Fatalf("%s has %q %d times, want it once: the patch is out of date", p.file, p.from, n)
	}
	dir := t.TempDir()
	patched := filepath.Join(dir, filepath.Base(p.file))
	write(t, patched, []byte(strings.Replace(string(text), p.from, p.to, 1)))
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
