package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// supervised is tidelock locks exec, whose command prints lines.
type supervised struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func supervise(t *testing.T, dir string, flags []string, script string) *supervised {
	t.Helper()
	args := append([]string{"locks", "exec", "job"}, flags...)
	s := &supervised{Cmd: exec.CommandContext(t.Context(), fast, append(args, "--", "sh", "-c", script)...)}
	s.Dir = dir
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *supervised) line(t *testing.T) string {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("no line: %v", s.lines.Err())
	}
	return s.lines.Text()
}

func (s *supervised) code() int {
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// free says whether the lock can be had at once.
func free(dir string) bool {
	cmd := exec.Command(fast, "locks", "exec", "job", "--", "true")
	cmd.Dir = dir
	return cmd.Run() == nil
}

func TestEverySignalIsPassedOnToTheCommandUnderALock(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM, "ALRM": syscall.SIGALRM,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH, "CONT": syscall.SIGCONT,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := supervise(t, dir, nil, `trap "echo caught; exit 5" `+name+`; echo ready; while :; do sleep 0.02; done`)
			s.line(t)
			if free(dir) {
				t.Error("the lock is free while the command runs")
			}
			if err := s.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got := s.line(t); got != "caught" {
				t.Errorf("got %q, want the command's own answer", got)
			}
			if got := s.code(); got != 5 {
				t.Errorf("got exit code %d, want the command's 5", got)
			}
			if !free(dir) {
				t.Error("the lock isn't free after the command")
			}
		})
	}
}

func TestNothingOfACommandOutlivesItsLease(t *testing.T) {
	for _, test := range []struct {
		name, script string
		code         int
	}{
		{"itself and what it started", `trap "" TERM; (trap "" TERM; while :; do sleep 100; done) & echo $!; wait; wait`, 124},
		{"what it left in the background", `sleep 100 & echo $!`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := supervise(t, dir, []string{"--lease", "1s", "--kill-after", "500ms"}, test.script)
			pid := s.line(t)
			if got := s.code(); got != test.code {
				t.Errorf("got exit code %d, want %d", got, test.code)
			}
			dies(t, pid)
			if !free(dir) {
				t.Error("the lock isn't free")
			}
		})
	}
}

// Where the system can, it kills the command of a process that was killed: the
// lock's row runs out, and nothing goes on under it.
func TestACommandDiesWithTheProcessThatHoldsItsLock(t *testing.T) {
	t.Parallel()
	s := supervise(t, t.TempDir(), nil, `echo $$; while :; do sleep 0.02; done`)
	pid := s.line(t)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.code()
	dies(t, pid)
}

// dies waits until a process is gone from Linux's list, or only its entry is
// left.
func dies(t *testing.T, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("no process id: %q", pid)
	}
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, state, _ := strings.Cut(string(stat), ") "); err != nil || state[0] == 'Z' {
			return
		}
		time.Sleep(10 * time.Millisecond) // between two looks at the process table
	}
	t.Errorf("process %s still runs", pid)
}
