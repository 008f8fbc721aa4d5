package http

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"

	"github.com/tidelock-lua/tidelock/native/stream"
)

// Response is the response to a request. It has to be closed.
type Response struct {
	// Status is the status code, such as 200.
	Status int
	// Header is the header as it has come, but for what net/http has taken out of
	// it: the encoding of a body that it has decompressed.
	Header nethttp.Header

	fetch  *fetch
	body   io.ReadCloser
	length int64 // of the body; -1 if it isn't known
}

// RequestSent reports whether all of the request has been sent. If not, the rest
// goes out while the body is read.
func (r *Response) RequestSent() bool {
	u := r.fetch.upload
	return u == nil || u.left.Load() == 0
}

// Describe returns the status and content type, for an error about a body that
// can't be read: the page of a proxy has others than the server.
func (r *Response) Describe() string {
	contentType := "no content type"
	if text := r.Header.Get("Content-Type"); text != "" {
		contentType = Printable(text)
	}
	return fmt.Sprintf("status %d, %s", r.Status, contentType)
}

// printableMax is the most of a header's value that an error shows, in bytes.
const printableMax = 100

// Printable returns the value of a header as it is shown in errors.
func Printable(text string) string { return fmt.Sprintf("content type %.*q", printableMax, text) }

// Read reads the body. With it and Close, a Response is a [stream.Source].
func (r *Response) Read(ctx context.Context, p []byte) (int, error) {
	stop := context.AfterFunc(ctx, func() { r.fetch.end(context.Cause(ctx)) })
	defer stop()
	n, err := r.body.Read(p)
	if err == io.EOF && r.fetch.ctx.Err() == nil || err == nil {
		return n, err
	}
	// A server that sees its connection closed may end a body as if it were
	// whole.
	return n, r.fetch.fail(err)
}

// Close closes the connection, or keeps it for another request if all was read.
func (r *Response) Close() error {
	r.fetch.close()
	return r.body.Close()
}

// ReadAll reads the whole body, of at most [Policy.BodyBytes]. It may end the call
// by a panic.
func (r *Response) ReadAll(c stream.Caller) (string, error) {
	max := r.fetch.transport.policy.BodyBytes
	if r.length > max && r.body != nethttp.NoBody { // a response to HEAD has a length but no body
		return "", r.fetch.tooLarge(max)
	}
	text := stream.NewBuilder(c)
	for {
		c.CheckInterrupt()
		n, err := r.Read(c.Context, text.Reserve(int(min(max+1-int64(text.Len()), chunkBytes))))
		text.Advance(n)
		c.Charge(n)
		if int64(text.Len()) > max {
			return "", r.fetch.tooLarge(max)
		}
		if err == io.EOF {
			return text.String(), nil
		} else if err != nil {
			return "", err
		}
	}
}

// chunkBytes is how much of a body is read or sent at once.
const chunkBytes = 32 << 10
