package http

import (
	"context"
	"io"
	nethttp "net/http"

	"github.com/tidelock-lua/tidelock/native/stream"
)

// Response is what has come back. It has to be closed.
type Response struct {
	Status int
	Header nethttp.Header

	*exchange
	body   io.ReadCloser
	length int64 // -1 if it isn't known
}

// RequestSent says whether all of the request had been sent when its answer began. If
// not, the rest goes out while the body is read.
func (a *Response) RequestSent() bool { return a.upload == nil || a.upload.left.Load() == 0 }

// Read reads the body; with Close it makes the answer a stream's source.
func (a *Response) Read(ctx context.Context, p []byte) (int, error) {
	unlink := context.AfterFunc(ctx, func() { a.end(context.Cause(ctx)) })
	defer unlink()
	n, err := a.body.Read(p)
	if err == io.EOF && a.ctx.Err() == nil || err == nil {
		return n, err
	}
	// A server that sees its connection closed may end a body as if it were
	// whole.
	return n, a.trouble(err)
}

// Close gives the connection up, or back if all was read.
func (a *Response) Close() error {
	a.close()
	return a.body.Close()
}

// ReadAll reads the whole body. It may end the call by a panic.
func (a *Response) ReadAll(c stream.Caller) (string, error) {
	max := a.way.policy.BodyBytes
	if a.length > max && a.body != nethttp.NoBody { // HEAD tells of a body that doesn't come
		return "", a.tooLarge(max)
	}
	text := stream.NewBuilder(c)
	for {
		c.CheckInterrupt()
		n, err := a.Read(c.Context, text.Reserve(int(min(max+1-int64(text.Len()), pieceBytes))))
		text.Advance(n)
		c.Charge(n)
		if int64(text.Len()) > max {
			return "", a.tooLarge(max)
		}
		if err == io.EOF {
			return text.String(), nil
		} else if err != nil {
			return "", err
		}
	}
}

// pieceBytes is how much of a body or of an upload is handled at once.
const pieceBytes = 32 << 10
