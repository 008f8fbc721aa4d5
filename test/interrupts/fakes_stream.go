package main

import (
	"context"
	"io"
	"sync"

	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/stream"
	"github.com/tidelock-lua/tidelock/tenant"
)

// streams returns the streams that scripts can open.
func (p *probe) streams(tenant.ID) stream.Streams {
	in := func(first, rest string) func() (stream.Source, error) {
		return func() (stream.Source, error) { return &source{probe: p, next: first, rest: rest, end: newEnd()}, nil }
	}
	out := func(stalls bool) func() (stream.Sink, error) {
		return func() (stream.Sink, error) { return &sink{probe: p, stalls: stalls, end: newEnd()}, nil }
	}
	return stream.Streams{
		Inputs: map[string]func() (stream.Source, error){
			"endless": in("[1]\n", "[1]\n"),
			"field":   in(`"`, "xxxx"), // an endless quoted field
			"half":    in("[1]\n", ""),
			"silent":  in("", ""),
		},
		Outputs: map[string]func() (stream.Sink, error){"quick": out(false), "silent": out(true)},
	}
}

// end is the end of a stream: it is closed once.
type end struct {
	closed chan struct{}
	once   sync.Once
}

func newEnd() *end { return &end{closed: make(chan struct{})} }

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// wait waits until the call or the stream ends.
func (e *end) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closed:
		return io.ErrClosedPipe
	}
}

// source yields next, and then rest without end. If next is empty, reading
// waits.
type source struct {
	*end
	probe      *probe
	next, rest string
}

func (s *source) Read(ctx context.Context, p []byte) (int, error) {
	s.probe.requestSent(ctx)
	if s.next == "" {
		return 0, s.wait(ctx)
	}
	if s.probe.yield != nil {
		s.probe.yield() // lets fake time pass, which nothing else here does
	}
	n := copy(p, s.next)
	if s.next = s.next[n:]; s.next == "" {
		s.next = s.rest
		for s.next != "" && len(p)-n >= len(s.next) {
			n += copy(p[n:], s.next)
		}
	}
	return n, nil
}

// sink discards what is written to it, or never accepts it.
type sink struct {
	*end
	probe  *probe
	stalls bool
}

func (s *sink) Write(ctx context.Context, _ []byte) (outcome.Outcome, error) {
	s.probe.requestSent(ctx)
	if s.stalls {
		return outcome.Unknown, s.wait(ctx)
	}
	return outcome.Applied, nil
}
