// Package e2e tests what the programs promise by running the real binaries.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/sqlite"
)

// checked and fast are the program under test. checked is built with the race
// detector. fast is built as it is released, for tests of many processes, which
// share no memory and whose SQLite is ten times slower under the detector.
var checked, fast string

// raceOptions avoid the second that a program with the race detector waits at its
// end by default.
const raceOptions = "atexit_sleep_ms=0"

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidelock")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Programs start with default signal handling, also when these tests run under
	// nohup or in the background.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	// The first file that a process opens decides how SQLite locks files, and one
	// of these tests opens a file without the engine.
	first, err := sqlite.Open(filepath.Join(dir, "first.db"), clock.NewDual(clock.System()), sqlite.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	first.Close()
	checked, fast = filepath.Join(dir, "checked"), filepath.Join(dir, "fast")
	for _, args := range [][]string{{"-race", "-o", checked}, {"-o", fast}} {
		build := exec.Command("go", append(append([]string{"build"}, args...), "../../cmd/tidelock")...)
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
			return 1
		}
	}
	return m.Run()
}

// lookAtSources walks over the sources of the programs while a test runs, so that
// go test knows that a cached success depends on them.
var lookAtSources = sync.OnceValue(func() error {
	for _, dir := range []string{"cmd", "lambda", "native", "runtime", "task", "tenant"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(_ string, _ os.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	_, err := os.Stat("../../go.mod")
	return err
})

// TestScripts runs testdata/*.txtar. Besides testscript's own commands they
// have
//
//	tidelock CODE ARGS...   runs the program, which must exit with CODE
//	fill FILE N TEXT...     writes the texts to FILE, the last one N times
//	bytes FILE TEXT         writes a text with Go's escapes to FILE
//	no-controls             checks that the last command printed no control characters
func TestScripts(t *testing.T) {
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", raceOptions)
			env.Setenv("TIDELOCK", checked)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tidelock": runTidelock, "fill": fill, "bytes": writeBytes, "no-controls": noControls,
		},
	})
}

func runTidelock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tidelock CODE ARGS...")
	}
	err := ts.Exec(checked, args[1:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("got exit code %d, want %s", code, args[0])
	}
}

func fill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	last := len(args) - 1
	text := strings.Join(args[2:last], "") + strings.Repeat(args[last], n)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func noControls(ts *testscript.TestScript, _ bool, _ []string) {
	for _, output := range []string{ts.ReadFile("stdout"), ts.ReadFile("stderr")} {
		for _, r := range output {
			if r < ' ' && r != '\n' || 0x7f <= r && r < 0xa0 {
				ts.Fatalf("control character %U in the output %q", r, output)
			}
		}
	}
}

// process is a run of the program whose log a test reads while it runs.
type process struct {
	*exec.Cmd
	t      *testing.T
	stdout bytes.Buffer
	stderr chan string // lines
	logged []string    // lines that were read
}

// start starts the command run of binary in dir. A process that outlives its
// test is killed.
func start(t *testing.T, binary, dir string, args ...string) *process {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	p := &process{Cmd: exec.CommandContext(ctx, binary, append([]string{"run"}, args...)...), t: t}
	p.Dir, p.Stdout = dir, &p.stdout
	p.Env = append(os.Environ(), "GORACE="+raceOptions)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = w
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	p.stderr = make(chan string, 1000) // so that no process waits for the test
	go func() {
		defer close(p.stderr)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.stderr <- lines.Text()
		}
	}()
	t.Cleanup(func() { cancel(); r.Close() })
	return p
}

// next returns the message of the next log record of the script, "" after the
// last one.
func (p *process) next() string {
	for line := range p.stderr {
		p.logged = append(p.logged, line)
		var record struct{ Message, Script string }
		if json.Unmarshal([]byte(line), &record) == nil && record.Script != "" {
			return record.Message
		}
	}
	return ""
}

// until reads the log up to the script's message.
func (p *process) until(message string) {
	p.t.Helper()
	for m := p.next(); m != message; m = p.next() {
		if m == "" {
			p.t.Fatalf("the program ended before it logged %q: %v\n%s", message, p.Wait(), p.log())
		}
	}
}

// end waits for the process and returns its exit code, -1 if a signal ended
// it, and what it printed.
func (p *process) end() (code int, stdout string) {
	for p.next() != "" {
	}
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Error(err)
	}
	return p.ProcessState.ExitCode(), p.stdout.String()
}

func (p *process) log() string { return strings.Join(p.logged, "\n") }

// write writes a script into dir.
func write(t *testing.T, dir, name, source string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyFile copies a file of the repository into dir.
func copyFile(t *testing.T, dir, path string) {
	t.Helper()
	from, err := os.Open(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
}

// run runs a script to its end and returns what it printed. It fails the test
// unless the script succeeds.
func run(t *testing.T, binary, dir string, args ...string) string {
	t.Helper()
	p := start(t, binary, dir, args...)
	code, stdout := p.end()
	if code != 0 {
		t.Fatalf("got exit code %d\n%s%s", code, stdout, p.log())
	}
	return strings.TrimSuffix(stdout, "\n")
}
