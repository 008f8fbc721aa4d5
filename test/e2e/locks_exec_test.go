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

// supervised is a run of tidelock locks exec whose command prints lines.
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

// line returns the next line, which must come.
func (s *supervised) line(t *testing.T) string {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("no line: %v", s.lines.Err())
	}
	return s.lines.Text()
}

// code waits for the end and returns the exit code.
func (s *supervised) code() int {
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// exit reads the output to its end, which is when no process has it open any
// more, and returns the exit code.
func (s *supervised) exit() int {
	for s.lines.Scan() {
	}
	return s.code()
}

// lockIsFree reports whether the lock can be acquired at once.
func lockIsFree(dir string) bool {
	cmd := exec.Command(fast, "locks", "exec", "job", "--", "true")
	cmd.Dir = dir
	return cmd.Run() == nil
}

func TestLocksExecForwardsEachSignal(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM, "ALRM": syscall.SIGALRM,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH, "CONT": syscall.SIGCONT,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := supervise(t, dir, nil, `trap "echo caught; exit 5" `+name+`; echo ready; while :; do sleep 0.02; done`)
			s.line(t)
			if lockIsFree(dir) {
				t.Error("the lock is free while the command runs")
			}
			if err := s.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got := s.line(t); got != "caught" {
				t.Errorf("got %q, want the answer of the command", got)
			}
			if got := s.code(); got != 5 {
				t.Errorf("got exit code %d, want the command's 5", got)
			}
			if !lockIsFree(dir) {
				t.Error("the lock isn't free after the command")
			}
		})
	}
}

func TestLocksExecEndsProcessGroupWithLease(t *testing.T) {
	for _, test := range []struct {
		name, script string
		code         int
	}{
		{"CommandAndItsChildren", `trap "" TERM; (trap "" TERM; while :; do sleep 100; done) & echo $!; wait; wait`, 124},
		{"BackgroundProcesses", `sleep 100 & echo $!`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := supervise(t, dir, []string{"--lease", "1s", "--kill-after", "500ms"}, test.script)
			pid := s.line(t)
			if got := s.code(); got != test.code {
				t.Errorf("got exit code %d, want %d", got, test.code)
			}
			requireExit(t, pid)
			if !lockIsFree(dir) {
				t.Error("the lock isn't free")
			}
		})
	}
}

// When the supervisor is killed, the system kills its command, where it can. So
// nothing goes on when the lock's row runs out.
func TestLocksExecCommandDiesWithItsSupervisor(t *testing.T) {
	t.Parallel()
	s := supervise(t, t.TempDir(), nil, `echo $$; while :; do sleep 0.02; done`)
	pid := s.line(t)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.code()
	requireExit(t, pid)
}

// requireExit waits until a process is gone from Linux's process table, or is a
// zombie.
func requireExit(t *testing.T, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("no process id: %q", pid)
	}
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, state, _ := strings.Cut(string(stat), ") "); err != nil || state[0] == 'Z' {
			return
		}
		time.Sleep(10 * time.Millisecond) // between two reads of the process table
	}
	t.Errorf("process %s still runs", pid)
}
