package main

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/mattn/go-isatty"
)

// stdout is standard output, and remembers that a write failed: a command that
// printed half of its result must not exit with 0.
type stdout struct {
	file   *os.File
	failed error // of the first write that failed
}

func (s *stdout) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return n, err
}

// Fd returns the file descriptor, for the check for a terminal.
func (s *stdout) Fd() uintptr { return s.file.Fd() }

// exitBrokenPipe is the exit code of a command whose output was closed: that of
// the signal that would have ended it otherwise.
const exitBrokenPipe = exitSignal + exitCode(syscall.SIGPIPE)

// isBrokenPipe reports whether a write failed because its reader has gone.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func isTerminal(w any) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// underlyingFile returns what a child process should write to: the file itself
// instead of a pipe to this process.
func underlyingFile(w io.Writer) io.Writer {
	if s, ok := w.(*stdout); ok {
		return s.file
	}
	return w
}
