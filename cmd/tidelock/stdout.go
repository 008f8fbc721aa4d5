package main

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/mattn/go-isatty"
)

// stdout is standard output, which remembers that a write failed: whoever reads
// half of a result must not take it for all.
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

// Fd makes it a file to those who look for terminals.
func (s *stdout) Fd() uintptr { return s.file.Fd() }

// exitBrokenPipe is the exit code of a command whose reader has gone: that of the
// signal that would have ended it otherwise.
const exitBrokenPipe = exitSignal + exitCode(syscall.SIGPIPE)

// isBrokenPipe says whether a write failed because nobody reads any more.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func isTerminal(w any) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// underlyingFile is a writer as a child takes it: the file itself, not a pipe to it.
func underlyingFile(w io.Writer) io.Writer {
	if s, ok := w.(*stdout); ok {
		return s.file
	}
	return w
}
