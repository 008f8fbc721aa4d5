package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// isRunning reports whether a process exists and has not ended.
func isRunning(t *testing.T, id string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", id, "stat"))
	if err != nil {
		return false
	}
	state := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
	return state != "Z" && state != "X"
}

// What a command has started must not run on when the lock has another holder,
// wherever it has moved: to the background, another group, another session, or
// another parent.
func TestLocksExecLeavesNoProcessBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere only the process group is known") // as tidelock locks exec --help says
	}
	const stray = `setsid sh -c 'trap "" TERM HUP; (setsid sh -c "trap \"\" TERM HUP; echo \$\$; sleep 600; sleep 1" &); echo $$; sleep 600; sleep 1' & `
	for _, test := range []struct {
		name, flags, script string
		code                int
	}{
		{"CommandEnds", "", stray + "read x; exit 3", 3},
		{"LeaseEnds", "--lease 3s --kill-after 1s", stray + "wait", 124},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := supervise(t, t.TempDir(), strings.Fields(test.flags), strings.Replace(test.script, "read x", "sleep 1", 1))
			ids := []string{s.line(t), s.line(t)}
			if code := s.exit(); code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			for _, id := range ids {
				if isRunning(t, id) {
					t.Errorf("process %s runs on", id)
					if n, err := strconv.Atoi(id); err == nil {
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				}
			}
		})
	}
}

// Every signal that can be caught reaches the command, repeatedly, and none of
// them releases the lock before the command ends.
func TestLocksExecForwardsSignalsWithoutReleasing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "once.lua", tryLock)
	all := []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGCONT,
	}
	script := ""
	for _, signal := range all {
		script += fmt.Sprintf("trap 'echo got %d' %d; ", signal, signal)
	}
	script += `echo ready; while ! test -e end; do sleep 0.05; done; exit 5`
	s := supervise(t, dir, []string{"--lease", "50s"}, script)
	if got := s.line(t); got != "ready" {
		t.Fatalf("got %q", got)
	}
	for range 2 {
		for _, signal := range all {
			if err := s.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got, want := s.line(t), fmt.Sprintf("got %d", signal); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := run(t, fast, dir, "once.lua"); got != "false" {
				t.Errorf("after %v the lock is free", signal)
			}
		}
	}
	write(t, dir, "end", "")
	if got := s.exit(); got != 5 {
		t.Errorf("got exit code %d, want the command's 5", got)
	}
	if got := run(t, fast, dir, "once.lua"); got != "true" {
		t.Error("the lock is not free after the end")
	}
}

// A command that is suspended and never resumed ends with its lease.
func TestLocksExecEndsSuspendedCommandWithLease(t *testing.T) {
	t.Parallel()
	s := supervise(t, t.TempDir(), []string{"--lease", "3s", "--kill-after", "1s"}, `trap 'exit 0' TERM; echo $$; kill -STOP $$; while true; do sleep 0.1; done`)
	id := s.line(t)
	if code := s.exit(); code != 124 || isRunning(t, id) {
		t.Errorf("got exit code %d and the command running: %v, want 124 and false", code, isRunning(t, id))
	}
}
