package lambdaapi

import (
	"testing"
	"time"
)

// patience is how long a program may take for anything.
const patience = time.Minute

// Invoke has an invocation answered and completed, and returns the answer.
func (a *API) Invoke(tb testing.TB, inv Invocation) Answer {
	tb.Helper()
	return a.Send(inv).Await(tb)
}

// Await waits until an invocation is complete.
func (p *Pending) Await(tb testing.TB) Answer {
	tb.Helper()
	answer := p.AwaitAnswer(tb)
	Await(tb, "the next question after an answer", p.Complete)
	return answer
}

// AwaitAnswer waits for an answer only: of a program that ends with it.
func (p *Pending) AwaitAnswer(tb testing.TB) Answer {
	tb.Helper()
	return Await(tb, "an answer", p.Answered)
}

// Await waits for something on a channel, which what names.
func Await[T any](tb testing.TB, what string, from <-chan T) (got T) {
	tb.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case got = <-from:
	case <-late.C:
		tb.Fatalf("%s did not come within %v", what, patience)
	case <-tb.Context().Done():
		tb.Fatalf("%s did not come before the test ended", what)
	}
	return got
}
