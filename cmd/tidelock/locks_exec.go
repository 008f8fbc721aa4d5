package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/runtime"
)

// execFlags are the flags of tidelock locks exec.
type execFlags struct {
	wait, lease, killAfter time.Duration
	busyCode               int
}

// Exit codes of locks exec besides the command's own, as those of timeout(1)
// and of shells.
const (
	exitLeaseEnded exitCode = 124
	exitNotRun     exitCode = 126
	exitNotFound   exitCode = 127
	exitSignal              = 128 // and the number of the signal
)

var errNoCommand = errors.New("no command is named: write it after --")

func locksExecCommand() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec NAME -- COMMAND [ARG...]",
		Short: "Run a command while holding a lock",
		Long: `Run a command while holding a lock.

No shell is involved. The command gets a process group of its own; every signal
that can be caught is passed on to it. Before the lease ends the group gets TERM,
and at its end KILL: nothing of it runs on when another holder may take the lock.
What it leaves in the background is killed when it ends; on Linux that includes
what has left its group or session.

The exit code is the command's (128 and the signal's number if a signal ended
it), 124 if the lease ended first, --busy-code if the lock was not had, 126 or
127 if the command could not be run or found.`,
		Example: "  tidelock locks exec nightly --lease 10m --wait 5s -- ./backup.sh",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return errNoCommand
			}
			if f.busyCode < 0 || f.busyCode > 255 {
				return fmt.Errorf("--busy-code %d: want 0 to 255", f.busyCode)
			}
			if f.wait < 0 {
				return fmt.Errorf("--wait %v: want 0 or more", f.wait)
			}
			if f.killAfter < 0 || f.killAfter >= f.lease {
				return fmt.Errorf("--kill-after %v: want less than --lease %v", f.killAfter, f.lease)
			}
			return withLocks(cmd, func(ctx context.Context, l *locks) error { return l.exec(ctx, cmd, args[0], args[1:], f) })
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.wait, "wait", 0, "how long to wait for the lock (default: one try)")
	flags.DurationVar(&f.lease, "lease", 30*time.Second, "how long the command may run, from now on")
	flags.DurationVar(&f.killAfter, "kill-after", time.Second, "how long before the end of the lease the command gets TERM")
	flags.IntVar(&f.busyCode, "busy-code", 75, "exit code if the lock was not had")
	return cmd
}

func (l *locks) exec(ctx context.Context, cmd *cobra.Command, name string, command []string, f execFlags) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		printError(cmd.ErrOrStderr(), err)
		return exitCodeNotRun(err)
	}
	host, _ := os.Hostname()
	lease, err := l.Locks.Acquire(ctx, lock.Request{
		Key: lock.Key{Tenant: l.tenant, Name: name}, Lease: f.lease, Wait: f.wait,
		By: lock.Holder{
			HostKind: "cli", HostName: host, Process: strconv.Itoa(os.Getpid()),
			Run: runtime.NewID(time.Now()), Script: "exec " + filepath.Base(path),
		},
	})
	switch {
	case ctx.Err() != nil:
		if lease != nil {
			lease.Release(ctx)
		}
		return interruptedBy(ctx)
	case errors.Is(err, lock.ErrHeld):
		l.printHolder(ctx, cmd.ErrOrStderr(), name)
		return exitCode(f.busyCode)
	case err != nil:
		printError(cmd.ErrOrStderr(), err) // standard output is the command's
		return exitFailed
	}
	defer lease.Release(ctx)
	return l.supervise(ctx, cmd, path, command, lease.End, f.killAfter)
}

// supervise runs a command until it exits or [clock.Dual.ElapsedMax] reaches
// end.
func (l *locks) supervise(ctx context.Context, cmd *cobra.Command, path string, command []string, end, killAfter time.Duration) error {
	// On Linux the child is killed when the thread that started it dies, so the
	// thread has to live as long as the child.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	signals := make(chan os.Signal, 16)
	notifySignals(signals, forwardedSignals()...)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return interruptedBy(ctx) // by a signal before they were sent to this channel
	}
	descendants := becomeSubreaper()
	child := &exec.Cmd{
		Path: path, Args: command, Stdin: cmd.InOrStdin(), Stdout: underlyingFile(cmd.OutOrStdout()), Stderr: cmd.ErrOrStderr(),
		SysProcAttr: childAttributes(cmd.InOrStdin()),
	}
	if err := child.Start(); err != nil {
		printError(cmd.ErrOrStderr(), err)
		return exitNotRun
	}
	group := childGroup{id: child.Process.Pid, descendants: descendants}
	exited := make(chan struct{})
	stopped := make(chan bool)
	go func() { stopped <- l.stopAtEnd(end, killAfter, group, signals, exited) }()
	err := child.Wait()
	close(exited)
	atEnd := <-stopped
	group.kill() // what it left in the background
	if atEnd {
		fmt.Fprintln(cmd.ErrOrStderr(), "tidelock: the lease has ended, and so has the command")
		return exitLeaseEnded
	}
	return exitCodeOf(child.ProcessState, err)
}

// exitCodeOf returns the exit code for a command that has exited; err is what
// waiting for it returned.
func exitCodeOf(state *os.ProcessState, err error) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return exitCode(exitSignal + int(status.Signal()))
	case state.ExitCode() > 0:
		return exitCode(state.ExitCode())
	case errors.As(err, new(*exec.ExitError)):
		return exitNotRun
	}
	return err
}

// pollInterval is how often the end of the lease is compared with the clock:
// timers stand still while the machine is suspended.
const pollInterval = 100 * time.Millisecond

// childGroup is a running command with all processes that it has started.
type childGroup struct {
	id          int         // of its process, and of its process group
	descendants descendants // of this process
}

func (g childGroup) signal(s syscall.Signal) { _ = syscall.Kill(-g.id, s) } // it may have ended

// kill kills all of them.
func (g childGroup) kill() {
	g.signal(syscall.SIGKILL)
	g.descendants.kill()
}

// stopAtEnd forwards signals to a command until exited is closed. It sends TERM
// killAfter before the end of the lease, and KILL at the end. It reports whether
// it has sent TERM.
func (l *locks) stopAtEnd(end, killAfter time.Duration, child childGroup, signals <-chan os.Signal, exited <-chan struct{}) bool {
	terminated, orphans := false, false
	for {
		left := end - l.Clock.ElapsedMax()
		if !terminated && left <= killAfter {
			child.signal(syscall.SIGTERM)
			child.signal(syscall.SIGCONT)
			terminated = true
		}
		if left <= 0 {
			child.kill()
			left = pollInterval
		}
		if !terminated {
			left -= killAfter
		}
		timer := time.NewTimer(min(left, pollInterval))
		select {
		case <-exited:
			timer.Stop()
			return terminated
		case s := <-signals:
			timer.Stop()
			if s == syscall.SIGCHLD {
				orphans = true // perhaps
			} else {
				child.signal(s.(syscall.Signal))
			}
		case <-timer.C:
			if orphans {
				child.descendants.reap(child.id)
				orphans = false
			}
		}
	}
}

// forwardedSignals are the signals that are meant for the command. SIGCHLD is
// about its own end, and SIGURG belongs to Go's scheduler.
func forwardedSignals() (all []syscall.Signal) {
	for s := syscall.Signal(1); s <= 64; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE:
		default:
			all = append(all, s)
		}
	}
	return all
}

// exitCodeNotRun is the exit code for a command that can't be found or run.
func exitCodeNotRun(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) {
		return exitNotRun
	}
	return exitNotFound
}
