package lambdaapi

import (
	"testing"
	"time"
)

// timeout is how long a program may take for anything.
const timeout = time.Minute

// Invoke has an invocation answered and completed, and returns the answer.
func (a *API) Invoke(tb testing.TB, inv Invocation) Response {
	tb.Helper()
	return a.Send(inv).Await(tb)
}

// Await waits until an invocation is complete.
func (p *Pending) Await(tb testing.TB) Response {
	tb.Helper()
	answer := p.AwaitResponse(tb)
	Await(tb, "the next question after an answer", p.Complete)
	return answer
}

// AwaitResponse waits for an answer only: of a program that ends with it.
func (p *Pending) AwaitResponse(tb testing.TB) Response {
	tb.Helper()
	return Await(tb, "an answer", p.Responded)
}

// Await waits for something on a channel, which what names.
func Await[T any](tb testing.TB, what string, from <-chan T) (got T) {
	tb.Helper()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case got = <-from:
	case <-late.C:
		tb.Fatalf("%s did not come within %v", what, timeout)
	case <-tb.Context().Done():
		tb.Fatalf("%s did not come before the test ended", what)
	}
	return got
}
