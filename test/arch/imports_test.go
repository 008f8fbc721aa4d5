package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tidelock-lua/tidelock/"

// room is a folder of packages, and the rooms that its packages may import.
// Whatever lies below a room belongs to it, unless it has a row of its own.
type room struct {
	folder  string
	imports []string
	why     string
}

// rooms is the architecture from the bottom to the top: a row may only name
// rows above it, so no arrow leads upwards.
var rooms = []room{
	{"tenant", nil, "who is running is known everywhere, so it knows nothing"},
	{"native/clock", nil, "time is measured everywhere, without the interpreter"},
	{"native/value", nil, "what crosses between Lua and Go, in plain Go"},
	{"native/spelling", nil, "finds what a misspelt name was meant to be"},
	{"native/outcome", []string{"native/clock"}, "how a request ended, and when it was sent and answered"},

	{"native/numeral", nil, "numerals as Lua reads them"},
	{"native/vm", []string{"native/clock", "native/numeral", "native/spelling"}, "stands on gopher-lua alone: deadlines, threads, memory, and what its errors say"},
	{"native", []string{"native/clock", "native/outcome", "native/spelling", "native/value", "native/vm", "tenant"}, "what authors of modules read: how a Go function becomes a field of native"},

	{"native/json", []string{"native/value"}, "text from and to values, no run needed"},
	{"native/lock", []string{"native/clock", "native/outcome", "native/value", "tenant"}, "the protocol declares the table that it needs, and knows no engine"},
	{"native/db", []string{"native/clock", "native/outcome", "native/value", "tenant"}, "db and lock don't know each other"},
	{"native/db/memory", []string{"native/clock", "native/outcome", "native/value", "native/db", "native/lock", "tenant"}, "an engine fills db.Store and lock.Table"},
	{"native/db/sqlite", []string{"native/clock", "native/outcome", "native/value", "native/db", "native/lock", "tenant"}, "an engine fills db.Store and lock.Table"},
	{"native/db/dynamo", []string{"native/clock", "native/outcome", "native/value", "native/db", "native/lock", "tenant"}, "an engine fills db.Store and lock.Table"},
	{"native/lock/locktest", []string{"native/clock", "native/outcome", "native/lock", "tenant"}, "fakes of what the lock needs, and the contract of lock.Table"},
	{"native/db/dbtest", []string{"native/clock", "native/outcome", "native/value", "native/db", "native/lock", "native/lock/locktest", "tenant"}, "one contract for all engines, locks included"},
	{"native/stream", []string{"native/clock", "native/outcome", "native/value", "native/json", "tenant"}, "records may be JSON"},
	{"native/http", []string{"native/clock", "native/outcome", "native/value", "native/json", "native/stream", "tenant"}, "bodies are streams"},
	{"native/sql", []string{"native/clock", "native/outcome", "native/spelling", "native/value", "native/json", "native/stream", "tenant"}, "rows are streams of JSON too"},

	{"native/module/jsonmodule", []string{"native", "native/vm", "native/json", "native/outcome"}, "a Lua face stands on native and on its own domain"},
	{"native/module/coremodule", []string{"native", "native/vm"}, "a Lua face stands on native and on its own domain"},
	{"native/module/deadlinemodule", []string{"native", "native/vm"}, "a Lua face stands on native and on its own domain"},
	{"native/module/logmodule", []string{"native", "native/vm", "native/value"}, "a Lua face stands on native and on its own domain"},
	{"native/module/lockmodule", []string{"native", "native/lock", "native/value", "tenant"}, "a Lua face stands on native and on its own domain"},
	{"native/module/dbmodule", []string{"native", "native/vm", "native/db", "native/outcome", "native/value", "tenant"}, "a Lua face stands on native and on its own domain"},
	{"native/module/streammodule", []string{"native", "native/vm", "native/stream", "native/outcome", "native/value", "native/module/jsonmodule", "tenant"}, "records are decoded as native.json does"},
	{"native/module/httpmodule", []string{"native", "native/vm", "native/http", "native/json", "native/stream", "native/outcome", "native/value", "native/module/jsonmodule", "native/module/streammodule", "tenant"}, "bodies are streams, and JSON"},
	{"native/module/sqlmodule", []string{"native", "native/vm", "native/sql", "native/stream", "native/outcome", "native/value", "native/module/jsonmodule", "native/module/streammodule", "tenant"}, "rows are streams"},

	{"runtime/fair", []string{"tenant"}, "one queue for processors and for invocations"},
	{"runtime/compile", []string{"native/numeral"}, "from source to prototype: nothing of ours but what a numeral is"},
	{"runtime/check", []string{"runtime/compile"}, "looks at sources, runs nothing"},
	{"runtime/lualib", []string{"native/vm", "native/numeral", "runtime/lualib/pattern"}, "the library of scripts needs a run, nothing native"},
	{"runtime", []string{"native", "native/clock", "native/vm", "native/json", "native/spelling", "native/value", "native/module/coremodule", "native/module/logmodule", "runtime/fair", "runtime/check", "runtime/compile", "runtime/lualib", "tenant"},
		"results are JSON; print and native.context belong to every run; other modules come from the host"},
	{"runtime/nativetest", []string{"native", "native/clock", "native/value", "native/module", "runtime", "tenant"}, "runs scripts as a host does, in fake time"},

	{"runtime/runlog", []string{"native/outcome", "runtime"}, "the record of a run, the same in all hosts"},

	{"task/protection", nil, "asks Amazon ECS not to end the task"},
	{"task/locktable", []string{"native/clock", "native/lock", "native/outcome", "tenant"}, "lock rows as operators see them"},
	{"task/runner", []string{"native", "native/value", "runtime"}, "one run by an engine that may panic"},
	{"task/runner/runnertest", []string{"native/value", "runtime", "task/runner", "tenant"}, "engines that need no Lua"},
	{"task/schedule", []string{"native/clock", "native/db", "native/json", "native/lock", "native/outcome", "native/value", "runtime", "task/locktable", "tenant"},
		"decides what is due; an interface starts it"},
	{"task/batch", []string{"native", "native/spelling", "native/value", "runtime", "runtime/runlog", "task/runner", "tenant"}, "lines in, lines out: knows the engine only"},
	{"task/api", []string{"native/lock", "native/outcome", "runtime", "task/locktable", "task/runner", "tenant"}, "HTTP: an interface starts, finds and cancels invocations"},
	{"task", []string{"native", "native/clock", "native/db", "native/lock", "runtime", "runtime/fair", "runtime/runlog", "task/api", "task/locktable", "task/runner", "task/schedule", "tenant"},
		"the host gives invocations to an engine, and puts its rooms together"},
	{"task/tasktest", []string{"task"}, "a served host"},
	{"lambda", []string{"native", "native/clock", "native/json", "native/value", "runtime", "runtime/runlog", "tenant"}, "a host gives invocations to an engine; answers are JSON, and end before the platform's time does"},

	{"scripts", nil, "examples and their data"},
	{"cmd/internal/config", []string{"native", "native/http", "native/sql", "runtime", "tenant", "task", "lambda"}, "reads what the rooms' options are made of"},
	{"cmd/internal", []string{"native", "runtime", "task", "lambda", "tenant", "cmd/internal"}, "puts everything together"},
	{"cmd", []string{"native", "runtime", "task", "lambda", "tenant", "cmd/internal"}, "programs"},
	{"test", []string{""}, "tests look at everything"},
}

// imports is a package of ours and what it imports, tests left out.
type imports struct {
	folder string
	paths  []string
}

// list asks the go command for the imports of every package.
func list(t *testing.T) []imports {
	t.Helper()
	var all []imports
	for line := range strings.Lines(goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")) {
		words := strings.Fields(line)
		if folder, ours := strings.CutPrefix(words[0], module); ours {
			all = append(all, imports{folder, words[1:]})
		}
	}
	if len(all) < 40 {
		t.Fatalf("go list names %d packages", len(all))
	}
	return all
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func inside(folder, of string) bool {
	return folder == of || strings.HasPrefix(folder, of+"/") || of == ""
}

// roomOf returns the room that a folder lies in: the one with the longest name.
func roomOf(folder string) (found room, ok bool) {
	for _, r := range rooms {
		if inside(folder, r.folder) && len(r.folder) >= len(found.folder) {
			found, ok = r, true
		}
	}
	return found, ok
}

// violation returns what is wrong with an import, "" if it is allowed.
func violation(folder, imported string) string {
	from, ok := roomOf(folder)
	if !ok {
		return folder + " lies in no room: add it to the table"
	}
	to, _ := roomOf(imported)
	if from.folder == to.folder {
		return ""
	}
	for _, allowed := range from.imports {
		// A program may use whatever lies below the rooms that it names.
		if imported == allowed || to.folder == allowed || inside(from.folder, "cmd") && inside(imported, allowed) || allowed == "" || allowed == "native/module" && inside(imported, allowed) {
			return ""
		}
	}
	return folder + " imports " + imported + ", but: " + from.why
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range list(t) {
		for _, path := range p.paths {
			imported, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if text := violation(p.folder, imported); text != "" {
				t.Error(text)
			}
		}
	}
}

// Without this, the test above could be satisfied by a function that allows
// everything.
func TestImportsAgainstTheTableAreRefused(t *testing.T) {
	for _, test := range [][2]string{
		{"native/lock", "native/db"}, {"native/lock", "native/vm"}, {"native/clock", "tenant"}, {"native/db/dynamo", "native/db/sqlite"},
		{"native/db", "native/module/dbmodule"}, {"native/vm", "native"}, {"native", "runtime"}, {"runtime", "task"}, {"runtime", "native/lock"},
		{"native/module/lockmodule", "native/db"}, {"task/api", "task"}, {"task/schedule", "task/api"}, {"lambda", "task"}, {"runtime/lualib", "native"},
		{"native/json", "native"}, {"nowhere", "native"},
	} {
		if violation(test[0], test[1]) == "" {
			t.Errorf("%s may import %s", test[0], test[1])
		}
	}
}

func TestRoomsNameOnlyRoomsBelowThem(t *testing.T) {
	var seen []string
	for _, r := range rooms {
		for _, name := range r.imports {
			known := name == "" || slices.ContainsFunc(seen, func(s string) bool { return inside(s, name) }) || strings.HasPrefix(name, r.folder)
			if !known {
				t.Errorf("%s names %s, which is not below it", r.folder, name)
			}
		}
		seen = append(seen, r.folder)
	}
}

// plain are the packages that work without the interpreter.
var plain = []string{
	"./tenant", "./native/clock/...", "./native/outcome", "./native/value", "./native/json", "./native/lock/...", "./native/db/...",
	"./native/http/...", "./native/sql/...", "./native/stream/...", "./runtime/fair",
}

func TestPlainPackagesDependOnNoInterpreter(t *testing.T) {
	for _, p := range plain {
		for path := range strings.Lines(goList(t, "-deps", p)) {
			if strings.TrimSpace(path) == "github.com/yuin/gopher-lua" {
				t.Errorf("%s depends on gopher-lua: the Lua face of a module lies in native/module", p)
			}
		}
	}
}

// interpreter lists the rooms that import gopher-lua themselves.
var interpreter = []string{"native", "native/vm", "native/module", "runtime", "cmd/internal/repl", "test"}

func TestFewPackagesImportTheInterpreter(t *testing.T) {
	for _, p := range list(t) {
		if !slices.Contains(p.paths, "github.com/yuin/gopher-lua") {
			continue
		}
		allowed := slices.ContainsFunc(interpreter, func(folder string) bool {
			return p.folder == folder || folder != "native" && inside(p.folder, folder)
		})
		if !allowed {
			t.Errorf("%s imports gopher-lua", p.folder)
		}
	}
}
