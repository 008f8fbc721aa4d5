// Package batch runs the invocations of a file, one JSON object a line:
//
//	{"id": ANY, "tenant": ID, "script": NAME, "event": JSON}
//
// For each it writes a line as it finishes, with its id and the number of its
// line, the result as [runtime.Result] encodes it, and the run's id as run_id.
// A line that can't be run has an error as its result, and the others go on.
//
// One goroutine reads lines and hands each first to the writer, then to a
// worker. The writer holds four lines for each worker, so a slow reader of the
// results slows the batch down instead of filling the memory.
package batch
