package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

// sliceMax is how many bytes may be copied between two looks at the clock.
const sliceMax = 256 << 10

// watch counts how many bytes a source has given, or a sink has taken, since
// the last look.
type watch struct {
	t           *testing.T
	now, copied int
	looks       int // since bytes came or went
}

func (w *watch) caller() stream.Caller {
	return stream.Caller{
		Context: w.t.Context(), CheckInterrupt: func() { w.now, w.looks = 0, w.looks+1 }, Charge: func(int) {},
		Step: func(n int) {
			w.copied += n
			w.moved(n)
			w.now = 0
		},
	}
}

func (w *watch) moved(n int) {
	w.looks = 0
	if w.now += n; w.now > sliceMax {
		w.t.Errorf("%d bytes without a look at the clock", w.now)
	}
}

func TestNothingLongIsCopiedWithoutALookAtTheClock(t *testing.T) {
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
		w := &watch{t: t}
		from := strings.NewReader(test.data)
		s := stream.New(sourceFunc(func(_ context.Context, p []byte) (int, error) {
			n, err := from.Read(p)
			w.moved(n)
			return n, err
		}))
		got, err := test.read(s, w.caller())
		if got != text || err != nil && err != io.EOF {
			t.Errorf("%s: got %d bytes and %v", name, len(got), err)
		}
		if w.copied != test.copied {
			t.Errorf("%s: %d bytes were copied in steps, want %d", name, w.copied, test.copied)
		}
		if test.copied == 0 && w.looks < size/sliceMax {
			t.Errorf("%s: %d looks at the clock at the end, want %d", name, w.looks, size/sliceMax)
		}
		s.Close()
	}
}

// taking is a sink that takes some pieces and then no more.
type taking struct {
	got    bytes.Buffer
	pieces int
	took   func(n int)
	closed bool
}

func (s *taking) Write(_ context.Context, p []byte) (outcome.Outcome, error) {
	if s.pieces == 0 {
		return outcome.NotApplied, errors.New("no more")
	}
	s.pieces--
	s.got.Write(p)
	s.took(len(p))
	return outcome.Applied, nil
}

func (s *taking) Close() error {
	s.closed = true
	return nil
}

func TestALongTextIsWrittenInPieces(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	w := &watch{t: t}
	sink := &taking{pieces: 100, took: w.moved}
	settled := false
	if err := stream.NewOutput(sink).Write(w.caller(), text, func() { settled = true }); err != nil || !settled {
		t.Errorf("got %v, settled %v", err, settled)
	}
	if sink.got.String() != text || sink.closed {
		t.Error("the bytes differ, or the output was closed")
	}
}

// The first piece is there, the second isn't: a part is neither all nor nothing.
func TestATextThatWasWrittenInPartIsAnUnknownOutcome(t *testing.T) {
	for pieces, want := range []string{outcome.AppliedNo, outcome.AppliedUnknown} {
		sink := &taking{pieces: pieces, took: func(int) {}}
		settled := false
		err := stream.NewOutput(sink).Write(plain(t), strings.Repeat("x", 1<<20), func() { settled = true })
		known, ok := err.(*outcome.Error)
		if !ok || known.Applied != want || settled != (pieces == 0) || !sink.closed {
			t.Errorf("after %d pieces: got %v, settled %v, closed %v", pieces, err, settled, sink.closed)
		}
	}
}

func TestAnEndBetweenTwoPiecesClosesTheOutputAndLeavesTheWriteOpen(t *testing.T) {
	sink := &taking{pieces: 100, took: func(int) {}}
	caller := plain(t)
	caller.CheckInterrupt = func() { panic("the end") }
	settled := false
	defer func() {
		if recover() == nil || settled || !sink.closed || sink.got.Len() != sliceMax {
			t.Errorf("settled %v, closed %v, %d bytes written", settled, sink.closed, sink.got.Len())
		}
	}()
	_ = stream.NewOutput(sink).Write(caller, strings.Repeat("x", 1<<20), func() { settled = true })
}

// A source that says in its own words that it broke off is closed like any other.
func TestAStreamThatBrokeOffHoldsNothing(t *testing.T) {
	closed := 0
	src := &breaking{err: &outcome.Error{Code: "told_so", Message: "no more of this", Retryable: true}, closed: &closed}
	s := stream.New(src)
	for _, op := range []string{"read", "lines"} {
		var err error
		if op == "read" {
			_, err = s.Read(plain(t), 10)
		} else {
			_, err = s.Line(plain(t), 10)
		}
		known, ok := err.(*outcome.Error)
		if !ok || known.Code != "told_so" || known.Op != op || !known.Retryable || closed != 1 {
			t.Errorf("%s: got %v, closed %d times", op, err, closed)
		}
	}
	if src.err.Op != "" {
		t.Error("the source's own error was changed")
	}
}

// A bad line in front of the break is read on behind.
func TestABadLineBeforeABreakIsNotTheBreak(t *testing.T) {
	closed := 0
	s := stream.New(&breaking{text: "{\n1\n", err: &outcome.Error{Code: "told_so"}, closed: &closed})
	records := s.JSONLines(10)
	var codes []string
	for range 3 {
		_, err := records.Next(plain(t), func(line []byte) (any, error) {
			if string(line) == "{" {
				return nil, errors.New("no JSON")
			}
			return string(line), nil
		})
		code := "-"
		if known, ok := err.(*outcome.Error); ok {
			code = known.Code
		}
		codes = append(codes, code)
	}
	if got := strings.Join(codes, " "); got != "stream_json - told_so" || closed != 1 {
		t.Errorf("got %s, closed %d times", got, closed)
	}
}

// breaking gives its text and its error at once.
type breaking struct {
	text   string
	err    *outcome.Error
	closed *int
}

func (b *breaking) Read(_ context.Context, p []byte) (int, error) { return copy(p, b.text), b.err }

func (b *breaking) Close() error {
	*b.closed++
	return nil
}

func TestALongWriteThatIsCutOffLetsTheLockRunOut(t *testing.T) {
	machine(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `["deadline exceeded",false]`, `
			local out = native.stream.create("slow")
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1500 }, function() out:write(("x"):rep(2^20)) end)
			return { err, (native.lock.with("a", function() end)) }`)
		if n := h.landed.Load(); n != 1 {
			t.Errorf("%d pieces have come through, want 1", n)
		}
	})
}
