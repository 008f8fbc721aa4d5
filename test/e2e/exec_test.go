package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// underLock starts a command under a lock, with its standard output to be read
// line by line.
func underLock(t *testing.T, dir, flags, script string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	args := append([]string{"locks", "exec", "job"}, strings.Fields(flags)...)
	cmd := exec.CommandContext(t.Context(), fast, append(args, "--", "sh", "-c", script)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// line reads a line that must come.
func line(t *testing.T, from *bufio.Scanner) string {
	t.Helper()
	if !from.Scan() {
		t.Fatalf("the output ended: %v", from.Err())
	}
	return from.Text()
}

// runs says whether a process is there and has not ended.
func runs(t *testing.T, id string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", id, "stat"))
	if err != nil {
		return false
	}
	state := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
	return state != "Z" && state != "X"
}

// What a command has started must not run on when somebody else has the lock,
// wherever it has gone: into the background, another group, another session, or
// to another parent.
func TestNothingThatACommandHasStartedOutlivesItsLock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere only the group is known") // as tidelock locks exec --help says
	}
	const stray = `setsid sh -c 'trap "" TERM HUP; (setsid sh -c "trap \"\" TERM HUP; echo \$\$; sleep 600; sleep 1" &); echo $$; sleep 600; sleep 1' & `
	for _, test := range []struct {
		name, flags, script string
		code                int
	}{
		{"the command ends", "", stray + "read x; exit 3", 3},
		{"the lease ends", "--lease 3s --kill-after 1s", stray + "wait", 124},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd, out := underLock(t, t.TempDir(), test.flags, strings.Replace(test.script, "read x", "sleep 1", 1))
			ids := []string{line(t, out), line(t, out)}
			for out.Scan() {
			}
			err := cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("got exit code %d (%v), want %d", code, err, test.code)
			}
			for _, id := range ids {
				if runs(t, id) {
					t.Errorf("process %s runs on", id)
					if n, err := strconv.Atoi(id); err == nil {
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				}
			}
		})
	}
}

// Every signal that can be caught reaches the command, again and again, and
// none of them ends the lock before it.
func TestSignalsReachTheCommandAndNotItsLock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "once.lua", once)
	all := []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGCONT,
	}
	script := ""
	for _, s := range all {
		script += fmt.Sprintf("trap 'echo got %d' %d; ", s, s)
	}
	script += `echo ready; while ! test -e end; do sleep 0.05; done; exit 5`
	cmd, out := underLock(t, dir, "--lease 50s", script)
	if got := line(t, out); got != "ready" {
		t.Fatalf("got %q", got)
	}
	for range 2 {
		for _, s := range all {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if got, want := line(t, out), fmt.Sprintf("got %d", s); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := run(t, fast, dir, "once.lua"); got != "false" {
				t.Errorf("after %v the lock is free", s)
			}
		}
	}
	write(t, dir, "end", "")
	for out.Scan() {
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("got %v, want the command's exit code 5", err)
	}
	if got := run(t, fast, dir, "once.lua"); got != "true" {
		t.Error("the lock is not free after the end")
	}
}

// A command that is stopped goes on when it is told to, and ends with its lease
// when it isn't.
func TestACommandThatIsStoppedEndsWithItsLease(t *testing.T) {
	t.Parallel()
	cmd, out := underLock(t, t.TempDir(), "--lease 3s --kill-after 1s", `trap 'exit 0' TERM; echo $$; kill -STOP $$; while true; do sleep 0.1; done`)
	id := line(t, out)
	for out.Scan() {
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 124 || runs(t, id) {
		t.Errorf("got %v, want exit code 124", err)
	}
}
