package stream

import (
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Output writes to a sink. Only Close may be called while Write runs.
type Output struct {
	sink    Sink
	closed  atomic.Bool
	onClose func() // called once when the sink is closed; may be nil
}

// NewOutput returns an output to sink.
func NewOutput(sink Sink) *Output { return &Output{sink: sink} }

// Write writes text, all of it or with an error. settled is called unless
// something of it may still be written, or only a part was.
func (o *Output) Write(c Caller, text string, settled func()) error {
	if o.closed.Load() {
		settled()
		return fail(CodeClosed, "write", "the output is closed")
	}
	cut := true
	defer func() {
		if cut {
			_ = o.Close() // what came next would follow a gap
		}
	}()
	piece := make([]byte, min(len(text), blockBytes))
	c.Charge(len(piece))
	for begun := false; ; begun = true {
		n := copy(piece, text)
		text = text[n:]
		result, err := o.sink.Write(c.Context, piece[:n])
		if err != nil && begun {
			result = outcome.Unknown
		}
		if err != nil {
			return o.failed(c, result, err, settled)
		}
		if text == "" {
			break
		}
		c.CheckInterrupt()
	}
	cut = false
	settled()
	return nil
}

// failed is the error of a write.
func (o *Output) failed(c Caller, result outcome.Outcome, err error, settled func()) error {
	if result != outcome.Unknown {
		settled()
	}
	if c.Context.Err() != nil {
		return err // the end that cut it off is raised by the gate
	}
	e := *classify("write", err, "the output can't be written")
	e.Applied = outcome.AppliedNo
	if result == outcome.Unknown {
		e.Applied = outcome.AppliedUnknown
	}
	return &e
}

// Close ends the output.
func (o *Output) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	if o.onClose != nil {
		o.onClose()
	}
	if err := o.sink.Close(); err != nil {
		return classify("close", err, "the output can't be closed: what was written may be lost")
	}
	return nil
}
