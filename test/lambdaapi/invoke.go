package lambdaapi

import (
	"testing"
	"time"
)

// timeout bounds every wait for the program.
const timeout = time.Minute

// Invoke sends an invocation, waits until it is complete, and returns the
// response.
func (a *API) Invoke(tb testing.TB, inv Invocation) Response {
	tb.Helper()
	return a.Send(inv).Await(tb)
}

// Await waits until an invocation is complete, and returns the response.
func (p *Pending) Await(tb testing.TB) Response {
	tb.Helper()
	response := p.AwaitResponse(tb)
	Await(tb, "the poll after a response", p.Complete)
	return response
}

// AwaitResponse waits for the response only: of a program that exits after it.
func (p *Pending) AwaitResponse(tb testing.TB) Response {
	tb.Helper()
	return Await(tb, "a response", p.Responded)
}

// Await receives from a channel, or fails the test. what names the awaited event.
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
