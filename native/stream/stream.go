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

	"github.com/tidelock-lua/tidelock/native"
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
	// Look is called before the source is asked for more. It may end the call
	// by a panic.
	Look func()
	// Grow is told how many bytes are about to be made. It may end the call by
	// a panic.
	Grow func(bytes int)
}

// Stream reads a source. Only Close may be called while another method runs.
// Its errors are *native.Error, except for those of a call that has come to its
// end.
type Stream struct {
	source  Source
	freeing sync.Once
	freed   func() // called once the source has been closed; may be nil
	closed  atomic.Bool

	buffer *bufio.Reader // made by the first read
	caller Caller        // of the call that reads now
	last   error         // the source's last word: it isn't asked again
	broken *native.Error // what each later call returns
	lines  int           // read so far, or records
	allow  int           // bytes that the source may still be asked for
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
		if s.freed != nil {
			s.freed()
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
	a.caller.Look()
	if a.allow <= 0 {
		return 0, errAllowance
	}
	n, err := a.source.Read(a.caller.Context, p)
	a.caller.Grow(n)
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
		c.Grow(bufferBytes)
		s.buffer = bufio.NewReaderSize((*asked)(s), bufferBytes)
	}
	err = read()
	known, told := errors.AsType[*native.Error](err)
	switch {
	case err == nil:
	case err == io.EOF:
		_ = s.free() // all of it has arrived
	case s.last != nil && c.Context.Err() != nil:
		return err // the end that cut it off is raised by the gate
	case told && known.Code != CodeTooLarge:
		known.Op = op
	case told:
		known.Op, s.broken = op, known
		_ = s.free()
	default:
		s.broken = failed(op, err, "the stream broke off")
		_ = s.free()
		err = s.broken
	}
	cut = false
	return err
}

// Read returns the next n bytes, fewer only at the end of the stream, and io.EOF
// if nothing is left. With n of 0 it returns what comes next, at least 1 byte,
// without waiting for more.
func (s *Stream) Read(c Caller, n int) (text []byte, err error) {
	err = s.during(c, "read", func() error {
		if n > 0 {
			text, err = s.take(n)
			return err
		}
		if _, err := s.buffer.Peek(1); err != nil {
			return err
		}
		text = make([]byte, s.buffer.Buffered())
		_, err := s.buffer.Read(text)
		return err
	})
	return text, err
}

// ReadAll returns all that is left. More than max bytes are an error.
func (s *Stream) ReadAll(c Caller, max int) (text []byte, err error) {
	err = s.during(c, "read_all", func() error {
		text, err = s.take(max)
		if err != nil {
			return err
		}
		if _, err = s.buffer.Peek(1); err == nil {
			err = fail(CodeTooLarge, "", "more than %d bytes are left", max)
		}
		return err
	})
	if err != io.EOF {
		return nil, err
	}
	return text, nil
}

// take returns up to n bytes, and io.EOF if there are none.
func (s *Stream) take(n int) ([]byte, error) {
	var text bytes.Buffer
	for text.Len() < n {
		if _, err := s.buffer.Peek(1); err != nil {
			if err == io.EOF && text.Len() > 0 {
				return text.Bytes(), nil
			}
			return nil, err
		}
		piece := min(n-text.Len(), s.buffer.Buffered())
		s.caller.Grow(piece) // once more while the text grows
		if _, err := io.CopyN(&text, s.buffer, int64(piece)); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// Line returns the next line without its end, which is "\n" or "\r\n" and may be
// missing behind the last one; io.EOF if there is none. It is valid until the
// next read. A line of more than max bytes is an error.
func (s *Stream) Line(c Caller, max int) (line []byte, err error) {
	err = s.during(c, "lines", func() error {
		line, err = s.line(max)
		return err
	})
	return line, err
}

func (s *Stream) line(max int) ([]byte, error) {
	var long []byte // what didn't fit into the buffer
	for {
		piece, err := s.buffer.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && (err != io.EOF || len(long)+len(piece) == 0) {
			return nil, err
		}
		if len(long)+len(piece) > max+len("\r\n") {
			return nil, s.tooLong(max)
		}
		if err == bufio.ErrBufferFull {
			s.caller.Grow(len(piece))
			long = append(long, piece...)
			continue
		}
		if long != nil {
			piece = append(long, piece...)
		}
		piece, _ = bytes.CutSuffix(piece, []byte("\n"))
		piece, _ = bytes.CutSuffix(piece, []byte("\r"))
		if len(piece) > max {
			return nil, s.tooLong(max)
		}
		s.lines++
		return piece, nil
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
