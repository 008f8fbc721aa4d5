package stream

import (
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Output writes to a sink. Only Close may be called while Write runs. Its errors
// are [*outcome.Error], except for those of a call whose context has ended.
type Output struct {
	sink    Sink
	closed  atomic.Bool
	onClose func() // called once, before the sink is closed; may be nil
}

// NewOutput returns an output to sink.
func NewOutput(sink Sink) *Output { return &Output{sink: sink} }

// Write writes text. It calls resolved once the outcome is known: not if
// something of the text may still be written, or only a part of it was.
func (o *Output) Write(c Caller, text string, resolved func()) error {
	if o.closed.Load() {
		resolved()
		return fail(CodeClosed, "write", "the output is closed")
	}
	complete := false
	defer func() {
		if !complete {
			_ = o.Close() // what came next would follow a gap
		}
	}()
	chunk := make([]byte, min(len(text), blockBytes))
	c.Charge(len(chunk))
	for written := false; ; written = true {
		n := copy(chunk, text)
		text = text[n:]
		result, err := o.sink.Write(c.Context, chunk[:n])
		if err != nil && written {
			result = outcome.Unknown
		}
		if err != nil {
			return o.writeError(c, result, err, resolved)
		}
		if text == "" {
			break
		}
		c.CheckInterrupt()
	}
	complete = true
	resolved()
	return nil
}

// writeError returns the error of a write with this outcome.
func (o *Output) writeError(c Caller, result outcome.Outcome, err error, resolved func()) error {
	if result != outcome.Unknown {
		resolved()
	}
	if c.Context.Err() != nil {
		return err // the interrupt check raises what has ended the call
	}
	e := *classify("write", err, "the output can't be written")
	e.Applied = outcome.AppliedNo
	if result == outcome.Unknown {
		e.Applied = outcome.AppliedUnknown
	}
	return &e
}

// Close ends the output. An error means that something written before may be
// lost.
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
