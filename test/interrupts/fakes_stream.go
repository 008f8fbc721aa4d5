package main

import (
	"context"
	"io"
	"sync"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// streams are those that scripts can open.
func (p *probe) streams(tenant.ID) stream.Streams {
	in := func(begin, again string) func() (stream.Source, error) {
		return func() (stream.Source, error) { return &source{probe: p, next: begin, again: again, end: newEnd()}, nil }
	}
	out := func(stalls bool) func() (stream.Sink, error) {
		return func() (stream.Sink, error) { return &sink{probe: p, stalls: stalls, end: newEnd()}, nil }
	}
	return stream.Streams{
		Inputs: map[string]func() (stream.Source, error){
			"endless": in("[1]\n", "[1]\n"),
			"field":   in(`"`, "xxxx"), // in quotes, and endless
			"half":    in("[1]\n", ""),
			"silent":  in("", ""),
		},
		Outputs: map[string]func() (stream.Sink, error){"quick": out(false), "silent": out(true)},
	}
}

// end is that of a stream.
type end struct {
	closed chan struct{}
	once   sync.Once
}

func newEnd() *end { return &end{closed: make(chan struct{})} }

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// wait waits for the end of the call or of the stream.
func (e *end) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closed:
		return io.ErrClosedPipe
	}
}

// source gives next, and then again for ever; nothing comes if it is empty.
type source struct {
	*end
	probe       *probe
	next, again string
}

func (s *source) Read(ctx context.Context, p []byte) (int, error) {
	s.probe.sent(ctx)
	if s.next == "" {
		return 0, s.wait(ctx)
	}
	if s.probe.yield != nil {
		s.probe.yield() // in fake time nothing else does that takes time
	}
	n := copy(p, s.next)
	if s.next = s.next[n:]; s.next == "" {
		s.next = s.again
		for s.next != "" && len(p)-n >= len(s.next) {
			n += copy(p[n:], s.next)
		}
	}
	return n, nil
}

// sink drops what it gets, or doesn't take it.
type sink struct {
	*end
	probe  *probe
	stalls bool
}

func (s *sink) Write(ctx context.Context, _ []byte) (outcome.Outcome, error) {
	s.probe.sent(ctx)
	if s.stalls {
		return outcome.Unknown, s.wait(ctx)
	}
	return outcome.Applied, nil
}
