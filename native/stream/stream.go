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
	// bufferBytes is how much one read of the source asks for.
	bufferBytes = 32 << 10
	// DefaultTextMax is the most that [Stream.ReadAll] returns by default, in
	// bytes.
	DefaultTextMax = 6 << 20
	// TextMax is the most that one call can ask for, in bytes.
	TextMax = 1 << 30
	// DefaultLineMax is the longest line or record by default, in bytes.
	DefaultLineMax = 1 << 20
	// LineMax is the largest limit of a line or record, in bytes: each is decoded
	// as a whole.
	LineMax = 16 << 20
)

// Caller is the call that a stream is read or an output written for. Its
// functions may end the call by a panic.
type Caller struct {
	// Context ends with the call.
	Context context.Context
	// CheckInterrupt is called before the source is asked for more, and after
	// each block of bytes that was looked at or written.
	CheckInterrupt func()
	// Charge is told how many bytes of memory are about to be used.
	Charge func(bytes int)
	// Step is told how many bytes were copied. It may yield to other runs, so a
	// call that waits for a source takes its steps after the last wait.
	Step func(bytes int)
}

// Stream reads a source. Only Close may be called while another method runs.
// Its errors are [*outcome.Error], except for those of a call whose context has
// ended.
type Stream struct {
	source  Source
	closing sync.Once
	onClose func() // called once the source has been closed; may be nil
	closed  atomic.Bool

	buffer    *bufio.Reader  // made by the first read
	caller    Caller         // of the call that reads now
	sourceErr error          // the source's last error: it isn't read again
	failure   *outcome.Error // what each later call returns
	lines     int            // lines or records read so far
	budget    int            // bytes that may still be read from the source
}

// New returns a stream over src. It closes src when src has been read to its end
// or has failed, when a read is interrupted, and at the latest by
// [Stream.Close].
func New(src Source) *Stream { return &Stream{source: src} }

// Close closes the stream. A read in progress returns.
func (s *Stream) Close() error {
	s.closed.Store(true)
	return s.closeSource()
}

// described returns the description of the source for an error, "" if it has none.
func (s *Stream) described() string {
	if d, ok := s.source.(Describer); ok {
		return " (" + d.Describe() + ")"
	}
	return ""
}

// closeSource closes the source, once.
func (s *Stream) closeSource() (err error) {
	s.closing.Do(func() {
		err = s.source.Close()
		if s.onClose != nil {
			s.onClose()
		}
	})
	return err
}

// sourceReader is a stream as its buffer reads it: from the source, for the
// current caller and within its budget.
type sourceReader Stream

var errRecordBytes = errors.New("more than may be read for one record")

func (r *sourceReader) Read(p []byte) (int, error) {
	if r.sourceErr != nil {
		return 0, r.sourceErr
	}
	r.caller.CheckInterrupt()
	if r.budget <= 0 {
		return 0, errRecordBytes
	}
	n, err := r.source.Read(r.caller.Context, p)
	r.caller.Charge(n)
	r.budget -= n
	r.sourceErr = err
	return n, err
}

// do runs one read for a caller. io.EOF is returned as it is. A read that is
// interrupted, also by a panic, closes the stream: how much of the source it has
// taken is not known.
func (s *Stream) do(c Caller, op string, read func() error) (err error) {
	switch {
	case s.closed.Load():
		return fail(CodeClosed, op, "the stream is closed")
	case s.failure != nil:
		again := *s.failure
		again.Op = op
		return &again
	}
	interrupted := true
	defer func() {
		s.caller = Caller{}
		if interrupted {
			s.closed.Store(true)
			_ = s.closeSource() // the interrupt counts for more than its error
		}
	}()
	s.caller, s.budget = c, math.MaxInt
	if s.buffer == nil {
		c.Charge(bufferBytes)
		s.buffer = bufio.NewReaderSize((*sourceReader)(s), bufferBytes)
	}
	err = read()
	known, isKnown := errors.AsType[*outcome.Error](err)
	sourceFailed := s.sourceErr != nil && s.sourceErr != io.EOF && errors.Is(err, s.sourceErr)
	switch {
	case err == nil:
	case err == io.EOF:
		_ = s.closeSource() // all of it has arrived
	case s.sourceErr != nil && c.Context.Err() != nil:
		return err // the interrupt check raises what has ended the call
	case isKnown && !sourceFailed && known.Code != CodeTooLarge:
		known.Op = op // what follows can be read
	default:
		s.failure = classify(op, err, "the stream broke off")
		s.failure.Op = op
		_ = s.closeSource()
		err = s.failure
	}
	interrupted = false
	return err
}

// Read returns the next n bytes, fewer only at the end of the stream, and io.EOF
// if nothing is left. With an n of 0 it returns the bytes that are there, at
// least one, and waits for no more.
func (s *Stream) Read(c Caller, n int) (text string, err error) {
	err = s.do(c, "read", func() error {
		if n > 0 {
			b, err := s.readUpTo(n)
			if err == nil {
				text = b.String()
			}
			return err
		}
		if _, err := s.buffer.Peek(1); err != nil {
			return err
		}
		next, err := s.buffer.Peek(s.buffer.Buffered())
		text = string(next)
		_, _ = s.buffer.Discard(len(next)) // which are buffered
		return err
	})
	return text, err
}

// ReadAll returns all that is left. More than max bytes are an error.
func (s *Stream) ReadAll(c Caller, max int) (all string, err error) {
	err = s.do(c, "read_all", func() error {
		b, err := s.readUpTo(max)
		if err != nil {
			return err
		}
		switch _, err = s.buffer.Peek(1); err {
		case nil:
			err = fail(CodeTooLarge, "", "more than %d bytes are left", max)
		case io.EOF:
			all = b.String()
		}
		return err
	})
	if err != io.EOF {
		return "", err
	}
	return all, nil
}

// readUpTo returns up to n bytes, and io.EOF if there are none.
func (s *Stream) readUpTo(n int) (*Builder, error) {
	b := NewBuilder(s.caller)
	for b.Len() < n {
		want := n - b.Len()
		if b.Len() < bufferBytes { // so that a few bytes don't hold a large block
			if _, err := s.buffer.Peek(1); err == nil {
				want = min(want, s.buffer.Buffered())
			}
		}
		got, err := s.buffer.Read(b.Reserve(want))
		b.Advance(got)
		if err == io.EOF && b.Len() > 0 {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Line returns the next line without its end, which is "\n" or "\r\n" and may be
// missing after the last line; io.EOF if there is none. A line of more than max
// bytes is an error.
func (s *Stream) Line(c Caller, max int) (line string, err error) {
	err = s.do(c, "lines", func() error {
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

// line returns the next line: as short, which is valid until the next read, or
// as long if it didn't fit into the buffer.
func (s *Stream) line(max int) (short []byte, long *Builder, err error) {
	size := 0
	for {
		part, err := s.buffer.ReadSlice('\n')
		size += len(part)
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
			long.Append(part)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long == nil {
			short, _ = bytes.CutSuffix(part, []byte("\n"))
			short, _ = bytes.CutSuffix(short, []byte("\r"))
			size = len(short)
		} else {
			long.trimSuffix('\n')
			long.trimSuffix('\r')
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

// skipBOM skips the byte order mark that some programs put in front of UTF-8.
func (s *Stream) skipBOM() error {
	const bom = "\ufeff"
	start, err := s.buffer.Peek(len(bom))
	if string(start) == bom {
		_, err = s.buffer.Discard(len(bom))
	}
	if err == io.EOF {
		return nil // the next read gets it again
	}
	return err
}
