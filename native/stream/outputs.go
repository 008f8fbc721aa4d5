package stream

import (
	"context"
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native"
)

// Output writes to a sink. Only Close may be called while Write runs.
type Output struct {
	sink   Sink
	closed atomic.Bool
	freed  func() // called once when the sink is closed; may be nil
}

// NewOutput returns an output to sink.
func NewOutput(sink Sink) *Output { return &Output{sink: sink} }

// Write writes text, all of it or with an error. settled is called unless
// something of it may still be written.
func (o *Output) Write(ctx context.Context, text []byte, settled func()) error {
	if o.closed.Load() {
		settled()
		return fail(CodeClosed, "write", "the output is closed")
	}
	outcome, err := o.sink.Write(ctx, text)
	if outcome != native.Unknown {
		settled()
	}
	if err == nil {
		return nil
	}
	_ = o.Close() // what came next would follow a gap
	if ctx.Err() != nil {
		return err // the end that cut it off is raised by the gate
	}
	e := *failed("write", err, "the output can't be written")
	e.Applied = native.AppliedNo
	if outcome == native.Unknown {
		e.Applied = native.AppliedUnknown
	}
	return &e
}

// Close ends the output.
func (o *Output) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	if o.freed != nil {
		o.freed()
	}
	if err := o.sink.Close(); err != nil {
		return failed("close", err, "the output can't be closed: what was written may be lost")
	}
	return nil
}
