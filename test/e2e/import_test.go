package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const (
	importScript    = "import.lua"
	importEvent     = "@names.json"
	imported        = `{"imported":12797,"version":"CLDR 32"}`
	alreadyImported = `{"rows":12797,"skipped":"CLDR 32 is already there"}`
	importRunning   = `{"skipped":"another import is running"}`
)

func importFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	copyFile(t, dir, "scripts/examples/import.lua")
	copyFile(t, dir, "scripts/examples/names.json")
	return dir
}

func TestImportExampleImportsOnce(t *testing.T) {
	t.Parallel()
	dir := importFolder(t)
	for i, want := range []string{imported, alreadyImported, alreadyImported} {
		if got := run(t, fast, dir, importScript, "--event", importEvent); got != want {
			t.Errorf("run %d: got %s, want %s", i+1, got, want)
		}
	}
	write(t, dir, "count.lua", `
		local n, names = 0, native.db.open("names")
		for _ in names:each{ keys = true } do n = n + 1 end
		return { n, names:get("de/region/FR").name }`)
	if got, want := run(t, fast, dir, "count.lua"), `[12797,"Frankreich"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// testImport starts the import of the README twice at once, on DynamoDB.
func testImport(t *testing.T, tb *table) {
	var both []*program
	for range 2 {
		p := tb.command(tb.endpoint, "run", "scripts/examples/import.lua", "--event", "@scripts/examples/names.json",
			"--timeout", "2m") // a busy machine is slower
		p.Dir = "../.."
		p.start()
		both = append(both, p)
	}
	count := map[string]int{}
	for _, p := range both {
		p.end()
		count[strings.TrimSuffix(p.stdout.String(), "\n")]++
	}
	if count[imported] != 1 || count[alreadyImported]+count[importRunning] != 1 {
		t.Errorf("got %v, want one import and one skipped", count)
	}
	write(t, tb.dir, "count.lua", `
		local n = 0
		for _ in native.db.open("names"):each{ keys = true } do n = n + 1 end
		return n`)
	if got, want := tb.command(tb.endpoint, "run", "count.lua").output(), "12797"; got != want {
		t.Errorf("got %s names, want %s", got, want)
	}
}

func TestImportExampleRunsOnceWhenStartedTwice(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		dir := importFolder(t)
		processes := []*process{
			start(t, fast, dir, importScript, "--event", importEvent),
			start(t, fast, dir, importScript, "--event", importEvent),
		}
		count := map[string]int{}
		for _, p := range processes {
			code, stdout := p.end()
			if code != 0 {
				t.Errorf("round %d: got exit code %d, want 0\n%s", round, code, p.log())
			}
			count[strings.TrimSuffix(stdout, "\n")]++
		}
		if count[imported] != 1 || count[alreadyImported]+count[importRunning] != 1 {
			t.Errorf("round %d: got %s, want one import and one skipped", round, fmt.Sprint(count))
		}
	}
}
