package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// A record is charged before it is complete.
func TestCSVChargesARecordWhileItIsRead(t *testing.T) {
	reads, grown, data := 0, 0, new(endless)
	s := stream.New(sourceFunc(func(_ context.Context, p []byte) (int, error) {
		reads++
		return data.Read(p)
	}))
	defer s.Close()
	defer func() {
		if recover() == nil || reads > 40 {
			t.Errorf("read %d times 32 KiB, want the limit of 1 MiB to end it", reads)
		}
	}()
	_, _, _ = s.CSV(stream.CSVOptions{Max: stream.LineMax}).Next(stream.Caller{
		Context: t.Context(), CheckInterrupt: func() {}, Step: func(int) {},
		Charge: func(n int) {
			if grown += n; grown > 1<<20 {
				panic("over the limit")
			}
		},
	})
}

// jumpingClock is a clock that can be put forward.
type jumpingClock struct {
	clock.Clock
	offset atomic.Int64
}

func (c *jumpingClock) Now() clock.Instant {
	now := c.Clock.Now()
	now.Mono += time.Duration(c.offset.Load())
	return now
}

// A read of bytes that are always there never waits, so only an interrupt check
// ends it.
func TestCSVIsInterruptedWithinARecord(t *testing.T) {
	clk := &jumpingClock{Clock: clock.System()}
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
	defer run.Close()
	reads, data := 0, new(endless)
	s := stream.New(sourceFunc(func(_ context.Context, p []byte) (int, error) {
		if reads++; reads == 3 {
			clk.offset.Add(int64(time.Hour))
		}
		return data.Read(p)
	}))
	defer s.Close()
	defer func() {
		if recover() == nil || reads != 3 {
			t.Errorf("read %d times, want 3 and then the interrupt", reads)
		}
	}()
	caller := stream.Caller{Context: t.Context(), CheckInterrupt: func() { run.CheckInterrupt() }, Charge: func(int) {}, Step: func(int) {}}
	_, _, _ = s.CSV(stream.CSVOptions{Max: stream.LineMax}).Next(caller)
}

type sourceFunc func(context.Context, []byte) (int, error)

func (f sourceFunc) Read(ctx context.Context, p []byte) (int, error) { return f(ctx, p) }
func (f sourceFunc) Close() error                                    { return nil }

func callerOf(t testing.TB) stream.Caller {
	return stream.Caller{Context: t.Context(), CheckInterrupt: func() {}, Charge: func(int) {}, Step: func(int) {}}
}

func TestReadReturnsTheSameBytesForChunksOfAnySize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 80_000)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for name, reader := range map[string]io.Reader{
		"whole":          bytes.NewReader(data),
		"byte by byte":   iotest.OneByteReader(bytes.NewReader(data)),
		"halves":         iotest.HalfReader(bytes.NewReader(data)),
		"end with bytes": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		s := stream.New(stream.FromReader(io.NopCloser(reader)))
		var got []byte
		for {
			text, err := s.Read(callerOf(t), random.IntN(70_000))
			got = append(got, text...)
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%s: the bytes differ", name)
		}
	}
}

func TestFromReaderReturnsWithTheCallAndLeaksNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	src := stream.FromReader(r)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := src.Read(ctx, make([]byte, 1)); err == nil || ctx.Err() == nil {
		t.Errorf("got error %v, want that of the end", err)
	}
	src.Close()
	src.Close()
}

func TestCloseEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := io.Pipe()
		s := stream.New(stream.FromReader(r))
		done := make(chan error, 1)
		go func() {
			_, err := s.Read(callerOf(t), 1)
			done <- err
		}()
		synctest.Wait()
		s.Close()
		if err := <-done; err == nil || err == io.EOF {
			t.Errorf("got %v, want an error", err)
		}
	})
}

func TestFromWriterHoldsBytesBackOnceTheCallHasEnded(t *testing.T) {
	clk := &jumpingClock{Clock: clock.System()}
	run := vm.NewRun(vm.Config{Clock: clock.NewDual(clk), Limits: vm.Limits{Timeout: time.Minute}})
	defer run.Close()
	ctx := run.Context()
	defer ctx.Stop()
	var got strings.Builder
	sink := stream.FromWriter(struct {
		io.Writer
		io.Closer
	}{&got, io.NopCloser(nil)})
	if result, err := sink.Write(ctx, []byte("a")); result != outcome.Applied || err != nil {
		t.Fatal(result, err)
	}
	clk.offset.Add(int64(time.Hour)) // the process was stopped
	if _, err := sink.Write(ctx, []byte("b")); err == nil || got.String() != "a" {
		t.Errorf("got error %v and %q written, want it held back", err, got.String())
	}
}

func TestFromWriterReportsAPartialWriteAsUnknown(t *testing.T) {
	r, w := io.Pipe()
	sink := stream.FromWriter(w)
	go func() {
		_, _ = io.ReadFull(r, make([]byte, 1))
		r.Close()
	}()
	if result, err := sink.Write(t.Context(), []byte("ab")); result != outcome.Unknown || err == nil {
		t.Errorf("got %v, %v", result, err)
	}
	if result, _ := sink.Write(t.Context(), []byte("c")); result != outcome.NotApplied {
		t.Errorf("a write after a gap: got %v", result)
	}
}

// A source that fails with an error of its own is closed like any other.
func TestSourceThatFailedIsClosed(t *testing.T) {
	closed := 0
	src := &failingSource{err: &outcome.Error{Code: "told_so", Message: "no more of this", Retryable: true}, closed: &closed}
	s := stream.New(src)
	for _, op := range []string{"read", "lines"} {
		var err error
		if op == "read" {
			_, err = s.Read(callerOf(t), 10)
		} else {
			_, err = s.Line(callerOf(t), 10)
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

// A bad line is no failure of the source: the next line can be read.
func TestJSONLinesReadsOnAfterABadLineBeforeTheSourceFails(t *testing.T) {
	closed := 0
	s := stream.New(&failingSource{text: "{\n1\n", err: &outcome.Error{Code: "told_so"}, closed: &closed})
	records := s.JSONLines(10)
	var codes []string
	for range 3 {
		_, err := records.Next(callerOf(t), func(line []byte) (any, error) {
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

// failingSource returns its text and its error at once.
type failingSource struct {
	text   string
	err    *outcome.Error
	closed *int
}

func (s *failingSource) Read(_ context.Context, p []byte) (int, error) { return copy(p, s.text), s.err }

func (s *failingSource) Close() error {
	*s.closed++
	return nil
}

func TestRecordThatIsCutIsAnError(t *testing.T) {
	caller := stream.Caller{Context: t.Context(), CheckInterrupt: func() {}, Charge: func(int) {}, Step: func(int) {}}
	of := func(text string) *stream.Stream {
		return stream.New(stream.FromReader(io.NopCloser(strings.NewReader(text))))
	}
	for _, text := range []string{"a,b\n1,\"tw", "a,b\n1,\"two\"\"", "a,b\n1", "a,b\n1,\"two\nlines"} {
		records := of(text).CSV(stream.CSVOptions{})
		_, _, err := records.Next(caller)
		if err == nil {
			_, _, err = records.Next(caller)
		}
		if known, ok := err.(*outcome.Error); !ok || known.Code != stream.CodeCSV {
			t.Errorf("%q: got %v, want %s", text, err, stream.CodeCSV)
		}
	}
	for _, text := range []string{`{"a":1`, `[1,`, `"x`, `tru`, `-`, `1e`} {
		_, err := of(text).JSONLines(1000).Next(caller, func(line []byte) (any, error) {
			var v any
			return v, json.Unmarshal(line, &v)
		})
		if known, ok := err.(*outcome.Error); !ok || known.Code != stream.CodeJSON {
			t.Errorf("%q: got %v, want %s", text, err, stream.CodeJSON)
		}
	}
}
