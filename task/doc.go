// Package task is the host that serves many tenants at once in one process: a
// container that answers HTTP and keeps schedules.
//
// # Packages
//
// A [Host] starts invocations, queues them, limits how many run, drains when it
// stops, and keeps results. Around it are packages that know no more of it than
// an interface, and nothing of each other:
//
//	task           the host; it composes the API and the schedules
//	  task/api       HTTP: requests, tokens, results, locks
//	  task/schedule  cron: what is due, and which process runs it
//	  task/runner    one run of a script, for the host and the batch
//	  task/locktable the rows of locks, for the API and the schedules
//	task/batch     the other host: a file of invocations in, results out
//
// Imports go downwards: task imports all but task/batch, api and schedule
// import what is below them.
//
// # From a request to its result
//
//	api.invoke      reads the request, and answers with the result
//	Host.Start      makes the invocation and admits it
//	registry.admit  recognises a repeated request, refuses while the host stops
//	queue.enter     gives it a slot, or lets it wait
//	executor.run    runs the engine in the slot, and completes the invocation
//	retention.keep  decides how long the result can be read
//
// An invocation that was admitted gets exactly one result:
//
//	queued --slot free--> running --> finished
//	   |                     |
//	   | cancelled, or       | cancelled: its locks are
//	   | the host stops:     | released, then finished
//	   v finished, not run   v
//
// A run that doesn't come back within 10 s after it was cancelled or its time
// limit was over is abandoned: the invocation gets a result without it. The run
// keeps its slot, and its locks run out by themselves.
//
// The registry, the queue, the retention and each invocation have a lock of
// their own. Where one is acquired while another is held, the order is
// retention, registry, invocation, queue.
//
// # Fairness
//
// The process, each tenant and each script have a limit of runs at once. What
// is over it waits in the queue, where each tenant may have a bounded number of
// invocations. Tenants take turns: a slot that gets free goes to the tenant
// that was served the longest time ago and may have another run. So a quiet
// tenant waits for one run to end at most, and never for another's queue.
//
// # Stopping
//
// When the context of [Host.Serve] ends, the host is not ready any more, accepts
// nothing new, and answers what has waited with Host.Shutdown, which a client
// can retry elsewhere. What runs goes on until [Config.StopReserve] is left of
// [Config.StopTimeout]; then it is cancelled and ends with Host.Shutdown too.
// Results are delivered all the while. A host without work stops at once.
package task
