package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

const (
	// bufferBytes is how much a stream asks its source for at once.
	bufferBytes = 32 << 10
	// DefaultTextMax is the most that [Stream.ReadAll] returns by default, in
	// bytes.
	DefaultTextMax = 6 << 20
	// TextMax is the most that one call can ask for, in bytes.
	TextMax = 1 << 30
	// DefaultLineMax is the longest line or record by default, in bytes.
	DefaultLineMax = 1 << 20
	// LineMax is the largest limit of a line or record, in bytes: what is
	// decoded from one is held whole.
	LineMax = 16 << 20
)

// Caller is the call that a stream is read for.
type Caller struct {
	// Context ends with the call.
	Context context.Context
	// CheckInterrupt is called before the source is asked for more. It may end the call
	// by a panic.
	CheckInterrupt func()
	// Charge is told how many bytes are about to be made. It may end the call by
	// a panic.
	Charge func(bytes int)
	// Step is told how many bytes were copied. It lets others have their turn, so
	// a call that has waited steps behind its last wait only. It may end the call
	// by a panic.
	Step func(bytes int)
}

// Stream reads a source. Only Close may be called while another method runs.
// Its errors are *outcome.Error, except for those of a call that has come to its
// end.
type Stream struct {
	source  Source
	freeing sync.Once
	onClose func() // called once the source has been closed; may be nil
	closed  atomic.Bool

	buffer *bufio.Reader  // made by the first read
	caller Caller         // of the call that reads now
	last   error          // the source's last word: it isn't asked again
	broken *outcome.Error // what each later call returns
	lines  int            // read so far, or records
	allow  int            // bytes that the source may still be asked for
}

// New returns a stream over src. It closes src when it has been read to its
// end, broke off or was cut off, and at the latest by [Stream.Close].
func New(src Source) *Stream { return &Stream{source: src} }

// Close closes the stream. A read that is under way returns.
func (s *Stream) Close() error {
	s.closed.Store(true)
	return s.free()
}

// free closes the source.
func (s *Stream) free() (err error) {
	s.freeing.Do(func() {
		err = s.source.Close()
		if s.onClose != nil {
			s.onClose()
		}
	})
	return err
}

// asked is the stream as its buffer sees it.
type asked Stream

var errAllowance = errors.New("more than may be read for one record")

func (a *asked) Read(p []byte) (int, error) {
	if a.last != nil {
		return 0, a.last
	}
	a.caller.CheckInterrupt()
	if a.allow <= 0 {
		return 0, errAllowance
	}
	n, err := a.source.Read(a.caller.Context, p)
	a.caller.Charge(n)
	a.allow -= n
	a.last = err
	return n, err
}

// during runs one read. io.EOF passes. A read that is cut off, be it by a
// panic, closes the stream: nobody knows how much of it was taken.
func (s *Stream) during(c Caller, op string, read func() error) (err error) {
	switch {
	case s.closed.Load():
		return fail(CodeClosed, op, "the stream is closed")
	case s.broken != nil:
		again := *s.broken
		again.Op = op
		return &again
	}
	cut := true
	defer func() {
		s.caller = Caller{}
		if cut {
			s.closed.Store(true)
			_ = s.free() // the end counts for more than trouble with the source
		}
	}()
	s.caller, s.allow = c, math.MaxInt
	if s.buffer == nil {
		c.Charge(bufferBytes)
		s.buffer = bufio.NewReaderSize((*asked)(s), bufferBytes)
	}
	err = read()
	known, told := errors.AsType[*outcome.Error](err)
	broke := s.last != nil && s.last != io.EOF && errors.Is(err, s.last)
	switch {
	case err == nil:
	case err == io.EOF:
		_ = s.free() // all of it has arrived
	case s.last != nil && c.Context.Err() != nil:
		return err // the end that cut it off is raised by the gate
	case told && !broke && known.Code != CodeTooLarge:
		known.Op = op // what comes behind it can be read
	default:
		s.broken = classify(op, err, "the stream broke off")
		s.broken.Op = op
		_ = s.free()
		err = s.broken
	}
	cut = false
	return err
}

// Read returns the next n bytes, fewer only at the end of the stream, and io.EOF
// if nothing is left. With n of 0 it returns what comes next, at least 1 byte,
// without waiting for more.
func (s *Stream) Read(c Caller, n int) (text string, err error) {
	err = s.during(c, "read", func() error {
		if n > 0 {
			all, err := s.take(n)
			if err == nil {
				text = all.String()
			}
			return err
		}
		if _, err := s.buffer.Peek(1); err != nil {
			return err
		}
		next, err := s.buffer.Peek(s.buffer.Buffered())
		text = string(next)
		_, _ = s.buffer.Discard(len(next)) // they are there
		return err
	})
	return text, err
}

// ReadAll returns all that is left. More than max bytes are an error.
func (s *Stream) ReadAll(c Caller, max int) (all string, err error) {
	err = s.during(c, "read_all", func() error {
		text, err := s.take(max)
		if err != nil {
			return err
		}
		switch _, err = s.buffer.Peek(1); err {
		case nil:
			err = fail(CodeTooLarge, "", "more than %d bytes are left", max)
		case io.EOF:
			all = text.String()
		}
		return err
	})
	if err != io.EOF {
		return "", err
	}
	return all, nil
}

// take returns up to n bytes, and io.EOF if there are none.
func (s *Stream) take(n int) (*Builder, error) {
	text := NewBuilder(s.caller)
	for text.Len() < n {
		want := n - text.Len()
		if text.Len() < bufferBytes { // so that a few bytes don't hold a large block
			if _, err := s.buffer.Peek(1); err == nil {
				want = min(want, s.buffer.Buffered())
			}
		}
		got, err := s.buffer.Read(text.Reserve(want))
		text.Advance(got)
		if err == io.EOF && text.Len() > 0 {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Line returns the next line without its end, which is "\n" or "\r\n" and may be
// missing behind the last one; io.EOF if there is none. A line of more than max
// bytes is an error.
func (s *Stream) Line(c Caller, max int) (line string, err error) {
	err = s.during(c, "lines", func() error {
		short, long, err := s.line(max)
		if err != nil {
			return err
		}
		if line = string(short); long != nil {
			line = long.String()
		}
		return nil
	})
	return line, err
}

// line returns the next line: short, which is valid until the next read, or,
// if it didn't fit into the buffer, long.
func (s *Stream) line(max int) (short []byte, long *Builder, err error) {
	size := 0
	for {
		piece, err := s.buffer.ReadSlice('\n')
		size += len(piece)
		if err != nil && err != bufio.ErrBufferFull && (err != io.EOF || size == 0) {
			return nil, nil, err
		}
		if size > max+len("\r\n") {
			return nil, nil, s.tooLong(max)
		}
		if err == bufio.ErrBufferFull && long == nil {
			long = NewBuilder(s.caller)
		}
		if long != nil {
			long.Append(piece)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long == nil {
			short, _ = bytes.CutSuffix(piece, []byte("\n"))
			short, _ = bytes.CutSuffix(short, []byte("\r"))
			size = len(short)
		} else {
			long.cut('\n')
			long.cut('\r')
			size = long.Len()
		}
		if size > max {
			return nil, nil, s.tooLong(max)
		}
		s.lines++
		return short, long, nil
	}
}

func (s *Stream) tooLong(max int) error {
	return fail(CodeTooLarge, "", "line %d has more than %d bytes", s.lines+1, max)
}

// skipMark skips the mark that some programs put in front of UTF-8.
func (s *Stream) skipMark() error {
	const mark = "\ufeff"
	start, err := s.buffer.Peek(len(mark))
	if string(start) == mark {
		_, err = s.buffer.Discard(len(mark))
	}
	if err == io.EOF {
		return nil // whoever reads on meets it again
	}
	return err
}
