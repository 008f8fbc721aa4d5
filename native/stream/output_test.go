package stream_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
)

// limitedSink is a sink that takes some chunks and then fails.
type limitedSink struct {
	got     bytes.Buffer
	chunks  int
	onWrite func(n int)
	closed  bool
}

func (s *limitedSink) Write(_ context.Context, p []byte) (outcome.Outcome, error) {
	if s.chunks == 0 {
		return outcome.NotApplied, errors.New("no more")
	}
	s.chunks--
	s.got.Write(p)
	s.onWrite(len(p))
	return outcome.Applied, nil
}

func (s *limitedSink) Close() error {
	s.closed = true
	return nil
}

func TestOutputWritesALongTextInChunks(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	m := &meter{t: t}
	sink := &limitedSink{chunks: 100, onWrite: m.moved}
	resolved := false
	if err := stream.NewOutput(sink).Write(m.caller(), text, func() { resolved = true }); err != nil || !resolved {
		t.Errorf("got %v, resolved %v", err, resolved)
	}
	if sink.got.String() != text || sink.closed {
		t.Error("the bytes differ, or the output was closed")
	}
}

// The first chunk is written, the second isn't: a part is neither all nor nothing.
func TestOutputReportsAPartialWriteAsUnknown(t *testing.T) {
	for chunks, want := range []string{outcome.AppliedNo, outcome.AppliedUnknown} {
		sink := &limitedSink{chunks: chunks, onWrite: func(int) {}}
		resolved := false
		err := stream.NewOutput(sink).Write(callerOf(t), strings.Repeat("x", 1<<20), func() { resolved = true })
		known, ok := err.(*outcome.Error)
		if !ok || known.Applied != want || resolved != (chunks == 0) || !sink.closed {
			t.Errorf("after %d chunks: got %v, resolved %v, closed %v", chunks, err, resolved, sink.closed)
		}
	}
}

func TestOutputInterruptedBetweenChunksIsClosedAndUnresolved(t *testing.T) {
	sink := &limitedSink{chunks: 100, onWrite: func(int) {}}
	caller := callerOf(t)
	caller.CheckInterrupt = func() { panic("the end") }
	resolved := false
	defer func() {
		if recover() == nil || resolved || !sink.closed || sink.got.Len() != uncheckedMax {
			t.Errorf("resolved %v, closed %v, %d bytes written", resolved, sink.closed, sink.got.Len())
		}
	}()
	_ = stream.NewOutput(sink).Write(caller, strings.Repeat("x", 1<<20), func() { resolved = true })
}

func TestOutputInterruptedBetweenChunksLetsTheLockExpire(t *testing.T) {
	withHost(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `["deadline exceeded",false]`, `
			local out = native.stream.create("slow")
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1500 }, function() out:write(("x"):rep(2^20)) end)
			return { err, (native.lock.with("a", function() end)) }`)
		if n := h.writes.Load(); n != 1 {
			t.Errorf("%d chunks were written, want 1", n)
		}
	})
}
