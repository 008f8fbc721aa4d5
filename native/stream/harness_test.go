package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/module/lockmodule"
	"github.com/tidelock-lua/tidelock/native/module/streammodule"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// host offers streams to scripts: "file" is what they have written to "file", and
// the others are named for what they do.
type host struct {
	mu    sync.Mutex // guards files
	files map[string][]byte

	open    atomic.Int64 // sources and sinks that aren't closed
	table   *memory.Store
	expired atomic.Int64 // leases whose rows were left to expire
	writes  atomic.Int64 // that succeeded
}

// modules are native.stream, native.lock over a table in memory, and
// native.test.open, which counts what isn't closed.
func (h *host) modules(t *testing.T, clk *clock.Dual) []native.Module {
	h.files, h.table = map[string][]byte{}, memory.New(clk)
	locks, err := lock.New(clk, h.table, lock.MachineClock{}, lock.Options{Events: lock.Events{
		Release: func(r lock.ReleaseEvent) {
			if r.Result == lock.Kept {
				h.expired.Add(1)
			}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return []native.Module{
		streammodule.New(streammodule.Options{Streams: h.streams}),
		lockmodule.New(locks, lockmodule.Options{}),
		{Name: "test", Funcs: []native.Func{{Name: "open", Do: func(c *native.Call) error {
			return c.Return(lua.LNumber(h.open.Load()))
		}}}},
	}
}

func modules(t *testing.T, clk *clock.Dual) []native.Module { return new(host).modules(t, clk) }

func (h *host) streams(id tenant.ID) stream.Streams {
	if id != "a" {
		return stream.Streams{}
	}
	in := map[string]func() (stream.Source, error){
		"stalled":   func() (stream.Source, error) { r, _ := io.Pipe(); return h.source(r), nil },
		"drop":      func() (stream.Source, error) { return h.source(slowly(time.Second, "1\n", "2\n", "3\n")), nil },
		"endless":   func() (stream.Source, error) { return h.source(&endless{}), nil },
		"broken":    func() (stream.Source, error) { return h.source(&broken{rest: []byte("first\nsec")}), nil },
		"told":      func() (stream.Source, error) { return &refusing{}, nil },
		"forbidden": func() (stream.Source, error) { return nil, errors.New("open /srv/secret: permission denied") },
	}
	out := map[string]func() (stream.Sink, error){
		"stuck": func() (stream.Sink, error) { _, w := io.Pipe(); return h.sink(w), nil },
		"full":  func() (stream.Sink, error) { return h.sink(full{}), nil },
		"slow":  func() (stream.Sink, error) { return h.sink(&slow{h, make(chan struct{})}), nil },
	}
	for _, name := range []string{"file", "people", "orders"} {
		in[name] = func() (stream.Source, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.source(io.NopCloser(bytes.NewReader(h.files[name]))), nil
		}
		out[name] = func() (stream.Sink, error) { return h.sink(&file{host: h, name: name}), nil }
	}
	return stream.Streams{Inputs: in, Outputs: out}
}

// counted is a Closer that counts what isn't closed.
type counted struct {
	io.Closer
	open *atomic.Int64
	once *sync.Once
}

func (h *host) counted(c io.Closer) counted {
	h.open.Add(1)
	return counted{c, &h.open, new(sync.Once)}
}

func (c counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Closer.Close()
}

func (h *host) source(r io.ReadCloser) stream.Source {
	return stream.FromReader(struct {
		io.Reader
		counted
	}{r, h.counted(r)})
}

func (h *host) sink(w io.WriteCloser) stream.Sink {
	return stream.FromWriter(struct {
		io.Writer
		counted
	}{w, h.counted(w)})
}

// file keeps what is written to it for whatever opens it next.
type file struct {
	host *host
	name string
	data []byte
}

func (f *file) Write(p []byte) (int, error) {
	f.host.writes.Add(1)
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *file) Close() error {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	f.host.files[f.name] = f.data
	return nil
}

// slowly returns a reader of one chunk after each pause.
func slowly(pause time.Duration, chunks ...string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for _, p := range chunks {
			time.Sleep(pause)
			if _, err := io.WriteString(w, p); err != nil {
				return
			}
		}
		w.Close()
	}()
	return r
}

// endless is one field in quotes, line after line.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), len(p)/100+1))
	if !e.begun {
		p[0], e.begun = '"', true
	}
	return len(p), nil
}

func (*endless) Close() error { return nil }

// broken fails after some bytes.
type broken struct{ rest []byte }

func (b *broken) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, errors.New("read tcp 10.0.0.7:5432: connection reset")
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *broken) Close() error { return nil }

// refusing fails with an error that scripts are to see.
type refusing struct{}

func (refusing) Read(context.Context, []byte) (int, error) {
	return 0, &outcome.Error{Code: "told_so", Message: "no more of this", Retryable: true}
}

func (refusing) Close() error { return nil }

// full takes no bytes.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, errors.New("write /srv/out: no space left on device")
}
func (full) Close() error { return errors.New("close /srv/out: no space left on device") }

// slow takes a chunk a second.
type slow struct {
	host   *host
	closed chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		s.host.writes.Add(1)
		return len(p), nil
	case <-s.closed:
		return 0, io.ErrClosedPipe
	}
}

func (s *slow) Close() error {
	close(s.closed)
	return nil
}
