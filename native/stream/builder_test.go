package stream_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/stream"
)

// uncheckedMax is how many bytes may be copied between two interrupt checks.
const uncheckedMax = 256 << 10

// meter counts the bytes that a source has returned, or a sink has taken, since
// the last interrupt check.
type meter struct {
	t                 *testing.T
	unchecked, copied int
	checks            int // since the last bytes
}

func (m *meter) caller() stream.Caller {
	return stream.Caller{
		Context: m.t.Context(), CheckInterrupt: func() { m.unchecked, m.checks = 0, m.checks+1 }, Charge: func(int) {},
		Step: func(n int) {
			m.copied += n
			m.moved(n)
			m.unchecked = 0
		},
	}
}

func (m *meter) moved(n int) {
	m.checks = 0
	if m.unchecked += n; m.unchecked > uncheckedMax {
		m.t.Errorf("%d bytes without an interrupt check", m.unchecked)
	}
}

func TestReadChecksForInterruptsBetweenBlocks(t *testing.T) {
	const size = 8 << 20
	text := strings.Repeat("x", size)
	for name, test := range map[string]struct {
		data   string
		copied int // at the end, in steps
		read   func(s *stream.Stream, c stream.Caller) (string, error)
	}{
		"read_all": {text, size, func(s *stream.Stream, c stream.Caller) (string, error) { return s.ReadAll(c, size) }},
		"read":     {text, size, func(s *stream.Stream, c stream.Caller) (string, error) { return s.Read(c, size) }},
		"line":     {text + "\r\n", size, func(s *stream.Stream, c stream.Caller) (string, error) { return s.Line(c, size) }},
		"JSON": {text + "\n", 0, func(s *stream.Stream, c stream.Caller) (string, error) {
			v, err := s.JSONLines(size).Next(c, func(line []byte) (any, error) { return string(line), nil })
			got, _ := v.(string)
			return got, err
		}},
	} {
		m := &meter{t: t}
		from := strings.NewReader(test.data)
		s := stream.New(sourceFunc(func(_ context.Context, p []byte) (int, error) {
			n, err := from.Read(p)
			m.moved(n)
			return n, err
		}))
		got, err := test.read(s, m.caller())
		if got != text || err != nil && err != io.EOF {
			t.Errorf("%s: got %d bytes and %v", name, len(got), err)
		}
		if m.copied != test.copied {
			t.Errorf("%s: %d bytes were copied in steps, want %d", name, m.copied, test.copied)
		}
		if test.copied == 0 && m.checks < size/uncheckedMax {
			t.Errorf("%s: %d interrupt checks at the end, want %d", name, m.checks, size/uncheckedMax)
		}
		s.Close()
	}
}
