package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/tidelock-lua/tidelock/runtime"
)

// ignoreBrokenPipe makes a write to a closed pipe fail instead of ending the
// process: a log without a reader must not end a script in the middle of what
// its lock protects.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// notifySignals sends signals to a channel, except those that the process was
// started with ignored: by nohup, or by a shell for a background job.
func notifySignals(to chan<- os.Signal, signals ...syscall.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
}

// interruptible returns a context that Ctrl-C cancels, and a request to
// terminate or the end of the terminal as well, which is then reported as a
// shutdown. A second signal ends the process at once.
func interruptible(parent context.Context) (context.Context, func()) {
	return endedBy(parent, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}

// endedBy is interruptible for some signals.
func endedBy(parent context.Context, by ...syscall.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	notifySignals(signals, by...)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s != syscall.SIGINT {
				cancel(runtime.Shutdown{})
			}
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

var errInterrupted = errors.New("interrupted by the operator")

// interruptedBy is the exit code of a command that a signal ended.
func interruptedBy(ctx context.Context) error {
	if errors.As(context.Cause(ctx), new(runtime.Shutdown)) {
		return exitCode(runtime.HostShutdown.ExitCode())
	}
	return exitCode(runtime.Cancelled.ExitCode())
}
