package stream

import (
	"context"
	"io"
	"sync"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Source is where the bytes of a stream come from. One goroutine reads at a
// time.
type Source interface {
	// Read is like [io.Reader]'s, but returns soon (within 50 ms) after ctx is
	// done, with any error. A Source that has returned for that reason is not
	// read again. Trouble that scripts are to be told of is a *outcome.Error;
	// of any other error they only learn that the stream broke off.
	Read(ctx context.Context, p []byte) (int, error)
	// Close frees what the source holds. It may be called at any time, more than
	// once and while a Read is under way, which then returns. It does not wait.
	Close() error
}

// Sink is where the bytes of an output go. One goroutine writes at a time.
type Sink interface {
	// Write writes all of p, and returns soon (within 50 ms) after ctx is done.
	// It may keep p only if it returns an error: a long text comes in pieces, by
	// one call after the other.
	// The outcome is Applied if all of p was written, NotApplied if nothing was
	// or will be, and Unknown if a part was, or may still be.
	Write(ctx context.Context, p []byte) (outcome.Outcome, error)
	// Close ends the output. It may be called at any time, more than once and
	// while a Write is under way. Its error says that something written before
	// may be lost.
	Close() error
}

// readerBytes is how much one read of an io.Reader asks for.
const readerBytes = 32 << 10

// FromReader makes a source of a reader that may block: a file, a pipe, a
// socket. It reads on a goroutine of its own, so that a call leaves at its end
// whatever the reader does, and never more than one piece of 32 KiB ahead.
//
// That goroutine lasts until the reader's Read has returned. Closing the source
// closes the reader, which makes Read return at once for sockets, for pipes
// that this process made or opened, and for [io.Pipe]; for other files (standard
// input that is a terminal, a disk that is stuck) the goroutine stays until the
// system has answered.
func FromReader(r io.ReadCloser) Source {
	return &reader{r: r, got: make(chan piece, 1), closed: make(chan struct{})}
}

type reader struct {
	r       io.ReadCloser
	buffer  []byte // made by the first read
	got     chan piece
	reading bool   // a goroutine fills the buffer and then sends to got
	rest    []byte // read, but not asked for yet
	err     error  // what comes after rest

	closed  chan struct{}
	closing sync.Once
}

type piece struct {
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

// wait waits for the next piece.
func (s *reader) wait(ctx context.Context) error {
	if !s.reading {
		s.reading = true
		if s.buffer == nil {
			s.buffer = make([]byte, readerBytes)
		}
		go func() {
			n, err := s.r.Read(s.buffer)
			s.got <- piece{s.buffer[:n], err}
		}()
	}
	select {
	case p := <-s.got:
		s.reading, s.rest, s.err = false, p.data, p.err
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

// FromWriter makes a sink of a writer that may block. Like [FromReader] it works
// on a goroutine of its own. The bytes of a call that has come to its end are
// held back if nothing of them has been written yet.
func FromWriter(w io.WriteCloser) Sink {
	return &writer{w: w, closed: make(chan struct{})}
}

type writer struct {
	w       io.WriteCloser
	broken  error // a write was cut off: what comes next would follow a gap
	closed  chan struct{}
	closing sync.Once
}

type written struct {
	n   int
	err error
}

func (s *writer) Write(ctx context.Context, p []byte) (outcome.Outcome, error) {
	if s.broken != nil {
		return outcome.NotApplied, s.broken
	}
	done := make(chan written, 1)
	go func() {
		if clock.Ended(ctx) {
			done <- written{0, context.DeadlineExceeded}
			return
		}
		n, err := s.w.Write(p)
		done <- written{n, err}
	}()
	var w written
	select {
	case w = <-done:
	case <-s.closed:
		w = written{-1, io.ErrClosedPipe}
	case <-ctx.Done():
		w = written{-1, context.Cause(ctx)}
	}
	if w.err == nil {
		return outcome.Applied, nil
	}
	s.broken = w.err
	if w.n == 0 {
		return outcome.NotApplied, w.err
	}
	return outcome.Unknown, w.err
}

func (s *writer) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		err = s.w.Close()
	})
	return err
}
