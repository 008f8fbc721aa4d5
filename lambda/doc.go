// Package lambda is the host of scripts on AWS Lambda. It runs a script for each
// invocation, or for each message of a batch, and responds in the form that the
// sender of the event understands. [Host.Serve] is the whole of a program;
// [Host.Invoke] answers a single invocation.
//
// # Which script
//
// Three sources may name the tenant and the script: the platform, where the
// function has tenant isolation; a [Route] for the source of the event; and an
// envelope {"tenant", "script", "event"} that the sender wrote. A later source
// may repeat what an earlier one named, but not change it: that is the error
// Tenant.Mismatch. The body of an HTTP request is never read as an envelope,
// because then any client could choose the tenant.
//
// # Time
//
// If the platform has to stop an invocation, it resets the environment, and held
// locks stay until they expire. So everything ends earlier, counted back from the
// platform's deadline:
//
//	scripts end              the margin before the deadline
//	requests of locks end    a fifth of the margin before the deadline
//	the response is sent     at the same time, even if a run has not returned
//
// A run that has not returned by then is abandoned. Its goroutine can't be
// stopped, so the process exits after the response, once no other invocation is
// in flight.
//
// # SIGTERM
//
// The platform sends SIGTERM if an extension is registered, which Serve does, and
// kills the process 500 ms later. All runs are cancelled, each releases
// its locks, and the process exits.
package lambda
