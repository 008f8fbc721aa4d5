package compile

import (
	"context"
	"io"
	"runtime"
)

// yieldingReader is the source that gopher-lua's scanner reads. It yields the
// processor from time to time, because the caller that waits for the source
// would notice the end of ctx only after the 10 ms that Go gives to each
// goroutine. When ctx has ended, so has the source.
type yieldingReader struct {
	ctx  context.Context
	rest string
	read int // bytes since the last yield
}

// bytesPerYield is how much is read between two yields: about a millisecond's
// work for the parser.
const bytesPerYield = 16 << 10

func (t *yieldingReader) Read(p []byte) (int, error) {
	if t.read >= bytesPerYield {
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
