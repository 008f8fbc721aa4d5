package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Source is where the bytes of a stream come from. One goroutine reads at a
// time.
type Source interface {
	// Read is like the Read of [io.Reader], but returns soon (within 50 ms) after
	// ctx is done, with any error. A Source that has returned for that reason is
	// not read again. An error that scripts are to see is a [*outcome.Error]; of
	// any other they only learn that the stream broke off.
	Read(ctx context.Context, p []byte) (int, error)
	// Close releases what the source holds. It may be called at any time, more
	// than once and while a Read is in progress, which then returns. It does not
	// wait.
	Close() error
}

// Describer is implemented by sources that can describe what they return. The text
// is a part of errors about lines and records that can't be read.
type Describer interface{ Describe() string }

// Sink is where the bytes of an output go. One goroutine writes at a time.
type Sink interface {
	// Write writes all of p, and returns soon (within 50 ms) after ctx is done.
	// It may keep p only if it returns an error: a long text is written in chunks
	// that share their memory.
	// The outcome is Applied if all of p was written, NotApplied if nothing was
	// or will be, and Unknown if a part was, or may still be.
	Write(ctx context.Context, p []byte) (outcome.Outcome, error)
	// Close ends the output. It may be called at any time, more than once and
	// while a Write is in progress. An error means that something written
	// before may be lost.
	Close() error
}

// readerBytes is how much one read of an io.Reader asks for.
const readerBytes = 32 << 10

// FromReader returns a source over a reader that may block: a file, a pipe, a
// socket. It reads on a goroutine of its own, so that a call returns at its end
// whatever the reader does, and never more than one chunk of 32 KiB ahead.
//
// That goroutine lasts until the reader's Read has returned. Closing the source
// closes the reader, which makes Read return at once for sockets, for pipes
// that this process made or opened, and for [io.Pipe]; for other files (a
// terminal as standard input, a disk that hangs) the goroutine stays until the
// system returns from the read.
func FromReader(r io.ReadCloser) Source {
	return &reader{r: r, chunks: make(chan chunk, 1), closed: make(chan struct{})}
}

// FromFile is [FromReader] for a file, which has to have at least the bytes that
// it had when it was opened: one that shrinks while it is read is an error rather
// than the end. Other files than regular ones have no size.
func FromFile(f *os.File) (Source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		return FromReader(f), nil
	}
	return FromReader(&wholeFile{f, info.Size()}), nil
}

// wholeFile is a file that must not end before left more bytes were read.
type wholeFile struct {
	*os.File
	left int64
}

func (w *wholeFile) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	w.left -= int64(n)
	if err == io.EOF && w.left > 0 {
		err = &outcome.Error{Code: CodeFailed, Message: fmt.Sprintf("the file has become shorter while it was read: %d bytes are missing", w.left)}
	}
	return n, err
}

type reader struct {
	r       io.ReadCloser
	buffer  []byte // made by the first read
	chunks  chan chunk
	reading bool   // a goroutine fills the buffer and then sends to chunks
	rest    []byte // of the last chunk, not returned yet
	err     error  // what comes after rest

	closed  chan struct{}
	closing sync.Once
}

type chunk struct {
	data []byte
	err  error
}

func (s *reader) Read(ctx context.Context, p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		if err := s.wait(ctx); err != nil {
			return 0, err
		}
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// wait waits for the next chunk, which the goroutine reads into the buffer.
func (s *reader) wait(ctx context.Context) error {
	if !s.reading {
		s.reading = true
		if s.buffer == nil {
			s.buffer = make([]byte, readerBytes)
		}
		go func() {
			n, err := s.r.Read(s.buffer)
			s.chunks <- chunk{s.buffer[:n], err}
		}()
	}
	select {
	case c := <-s.chunks:
		s.reading, s.rest, s.err = false, c.data, c.err
		return nil
	case <-s.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *reader) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		err = s.r.Close()
	})
	return err
}

// FromWriter returns a sink over a writer that may block. Like [FromReader] it
// works on a goroutine of its own. If a call has ended before its bytes go out,
// they are held back.
func FromWriter(w io.WriteCloser) Sink {
	return &writer{w: w, closed: make(chan struct{})}
}

type writer struct {
	w       io.WriteCloser
	failure error // of a write: what comes next would follow a gap
	closed  chan struct{}
	closing sync.Once
}

type writeResult struct {
	n   int // bytes written; -1 if that isn't known
	err error
}

func (s *writer) Write(ctx context.Context, p []byte) (outcome.Outcome, error) {
	if s.failure != nil {
		return outcome.NotApplied, s.failure
	}
	done := make(chan writeResult, 1)
	go func() {
		if clock.Ended(ctx) {
			done <- writeResult{0, context.DeadlineExceeded}
			return
		}
		n, err := s.w.Write(p)
		done <- writeResult{n, err}
	}()
	var result writeResult
	select {
	case result = <-done:
	case <-s.closed:
		result = writeResult{-1, io.ErrClosedPipe}
	case <-ctx.Done():
		result = writeResult{-1, context.Cause(ctx)}
	}
	if result.err == nil {
		return outcome.Applied, nil
	}
	s.failure = result.err
	if result.n == 0 {
		return outcome.NotApplied, result.err
	}
	return outcome.Unknown, result.err
}

func (s *writer) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		err = s.w.Close()
	})
	return err
}
