package stream_test

import (
	"bytes"
	"context"
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
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/nativetest"
	"github.com/tidelock-lua/tidelock/tenant"
)

func TestScripts(t *testing.T)       { nativetest.Scripts(t, modules) }
func TestThePageIsTrue(t *testing.T) { nativetest.Docs(t, "../../docs/stream.md", modules) }

// machine runs test with a host in fake time, and requires that nothing of what
// was opened stays open.
func machine(t *testing.T, test func(t *testing.T, m *nativetest.Machine, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		m := nativetest.New(t, h.modules)
		test(t, m, h)
		synctest.Wait()
		if n := h.open.Load(); n != 0 {
			t.Errorf("%d streams and outputs are left open", n)
		}
	})
}

func TestAWaitForBytesEndsWithTheLeaseAndFreesTheLock(t *testing.T) {
	for name, read := range map[string]string{
		"read":       `native.stream.open("stalled"):read(1)`,
		"read_all":   `native.stream.open("stalled"):read_all()`,
		"lines":      `for _ in native.stream.open("stalled"):lines() do end`,
		"json_lines": `for _ in native.stream.open("stalled"):json_lines() do end`,
		"csv":        `for _ in native.stream.open("stalled"):csv() do end`,
		"caught":     `while true do pcall(function() return native.stream.open("stalled"):read(1) end) end`,
	} {
		t.Run(name, func(t *testing.T) {
			machine(t, func(t *testing.T, m *nativetest.Machine, h *host) {
				m.Expect(t, `["deadline exceeded",5000,true]`, `
					local before = native.time()
					local ok, err = pcall(native.lock.with, "a", { lease_ms = 5000 }, function() `+read+` end)
					local took = math.floor((native.time() - before) * 1000 + 0.5)
					return { err, took, (native.lock.with("a", function() end)) }`)
				if h.kept.Load() != 0 {
					t.Error("the lock was left to run out, though nothing was written")
				}
			})
		})
	}
}

func TestAStreamThatAnEndCutOffIsClosed(t *testing.T) {
	machine(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
		m.Expect(t, `["stream_closed",3]`, `
			local s = native.stream.open("stalled")
			pcall(native.deadline.with, 100, s.read, s)
			assert(native.test.open() == 0)
			local _, err = pcall(s.read, s)
			-- One that was read in time goes on.
			local slow, n = native.stream.open("drop"), 0
			for line in slow:lines() do
				n = n + 1
				pcall(native.deadline.with, 2000, function() end)
			end
			return { err.code, n }`)
	})
}

func TestAWriteThatIsCutOffLetsTheLocksAroundItRunOut(t *testing.T) {
	machine(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `["deadline exceeded",false,"stream_closed"]`, `
			local out = native.stream.create("stuck")
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1000 }, out.write, out)
			local ok, err = pcall(native.lock.with, "a", { lease_ms = 1000 }, function() out:write("x") end)
			local again = native.lock.with("a", function() end)
			local _, closed = pcall(out.write, out, "y")
			return { err, again, closed.code }`)
		if n := h.kept.Load(); n != 1 {
			t.Errorf("%d leases were left to run out, want the one with the write", n)
		}
	})
}

func TestAWriteThatFailedOrSucceededLeavesTheLockFree(t *testing.T) {
	machine(t, func(t *testing.T, m *nativetest.Machine, h *host) {
		m.Expect(t, `[true,true]`, `
			pcall(native.lock.with, "a", function() native.stream.create("full"):write("x") end)
			local first = native.lock.with("a", function() native.stream.create("file"):write("x") end)
			return { first, (native.lock.with("a", function() end)) }`)
		if n := h.kept.Load(); n != 0 {
			t.Errorf("%d leases were left to run out", n)
		}
	})
}

func TestWhatARunHasOpenedIsClosedWithIt(t *testing.T) {
	const open = `local s = native.stream.open("stalled") native.stream.create("stuck") native.stream.create("file"):write("x") `
	for name, end := range map[string]string{
		"return": `return`,
		"error":  `error("x")`,
		"limit":  `while true do end`,
		"wait":   `s:read(1)`,
	} {
		t.Run(name, func(t *testing.T) {
			machine(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
				m.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: open + end, Limits: tenant.Limits{Timeout: time.Second},
				})
			})
		})
	}
}

func TestATenantLearnsNothingOfAnothersStreams(t *testing.T) {
	machine(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
		r := m.Run(t, "b", `
			local _, err = pcall(native.stream.open, "file")
			return err.message`)
		if got := string(r.JSON); got != `"there is none of this name: the host has named none"` {
			t.Errorf("got %s, %v", got, r.Error)
		}
	})
}

// The limit is a few times smaller than what the script asks for.
func TestWhatIsBufferedCountsAsMemory(t *testing.T) {
	for name, source := range map[string]string{
		"text":   `native.stream.open("endless"):read_all(2^30)`,
		"bytes":  `native.stream.open("endless"):read(2^30)`,
		"record": `for _ in native.stream.open("endless"):csv{ limit = 2^24 } do end`,
	} {
		t.Run(name, func(t *testing.T) {
			machine(t, func(t *testing.T, m *nativetest.Machine, _ *host) {
				r := m.Invoke(t.Context(), runtime.Invocation{
					Tenant: "a", Script: "test.lua", Source: source, Limits: tenant.Limits{MemoryBytes: 4 << 20},
				})
				if r.Error == nil || r.Error.Type != runtime.LimitExceeded {
					t.Errorf("got %v, want the memory limit", r.Error)
				}
			})
		})
	}
}

// Not only once it is complete.
func TestARecordCountsAsMemoryWhileItIsRead(t *testing.T) {
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

// late is a clock that jumps when a source is read for the n-th time.
type late struct {
	clock.Clock
	offset atomic.Int64
}

func (c *late) Now() clock.Instant {
	now := c.Clock.Now()
	now.Mono += time.Duration(c.offset.Load())
	return now
}

// Bytes that are always there let nobody wait, so only a look at the clock ends
// the call.
func TestALongRecordIsInterruptedWhileItIsRead(t *testing.T) {
	clk := &late{Clock: clock.System()}
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

func plain(t testing.TB) stream.Caller {
	return stream.Caller{Context: t.Context(), CheckInterrupt: func() {}, Charge: func(int) {}, Step: func(int) {}}
}

func TestPiecesOfAnySizeGiveTheSameBytes(t *testing.T) {
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
			text, err := s.Read(plain(t), random.IntN(70_000))
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

func TestAStalledPipeIsLeftAtTheEndAndNothingIsLeftAfterClose(t *testing.T) {
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

func TestClosingEndsAReadThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := io.Pipe()
		s := stream.New(stream.FromReader(r))
		done := make(chan error, 1)
		go func() {
			_, err := s.Read(plain(t), 1)
			done <- err
		}()
		synctest.Wait()
		s.Close()
		if err := <-done; err == nil || err == io.EOF {
			t.Errorf("got %v, want an error", err)
		}
	})
}

func TestBytesAreHeldBackOnceTheCallHasEnded(t *testing.T) {
	clk := &late{Clock: clock.System()}
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

func TestAPartOfAWriteIsAnUnknownOutcome(t *testing.T) {
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
