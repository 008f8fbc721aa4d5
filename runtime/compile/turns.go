package compile

import (
	"context"
	"io"
	"runtime"
)

// turns is a source that gopher-lua's scanner reads. Now and then it lets others
// have the processor: whoever waits for the source would notice the end of ctx
// only after the 10 ms that Go gives to each goroutine. When ctx has ended, so
// has the source.
type turns struct {
	ctx  context.Context
	rest string
	read int // bytes since others had the processor
}

// turnBytes is how much is read in one turn: about a millisecond's work for the
// parser.
const turnBytes = 16 << 10

func (t *turns) Read(p []byte) (int, error) {
	if t.read >= turnBytes {
		t.read = 0
		runtime.Gosched()
	}
	if t.rest == "" || t.ctx.Err() != nil {
		return 0, io.EOF
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	t.read += n
	return n, nil
}
