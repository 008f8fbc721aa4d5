// Package lambda is the host of scripts on AWS Lambda: an invocation comes in,
// one script runs for it (or one for each message of a batch), and an answer
// leaves in the form that the sender of the event understands.
//
// # Which script
//
// Whose script runs, and which one, is said by up to three: the platform, where
// the function has tenant isolation; a [Route] for where the event comes from;
// and an envelope {"tenant", "script", "event"} that the sender wrote. What one
// has said the next may repeat, but not change: that is Tenant.Mismatch. The
// body of an HTTP request is never an envelope, because whoever may call would
// then choose.
//
// # Time
//
// An invocation that the platform stops resets the environment and leaves its
// locks to run out. So everything ends before, counted back from the platform's
// deadline on the fast hand:
//
//	scripts end              the margin before the deadline
//	requests of locks end    a fifth of the margin before it
//	the answer goes out      then, even if a run has not come back
//
// A run that has not come back is abandoned. Its goroutine can't be stopped, so
// the process ends after the answer, where the answer can say so.
//
// # SIGTERM
//
// The platform gives the process 500 ms, if an extension is registered:
// aws-lambda-go does that. All runs are cancelled, each releases its locks on
// its own goroutine, and the process ends.
package lambda
