// Package task is the host that serves many tenants at once in one process: a
// container that answers HTTP and keeps schedules ([Host]), or a command that
// runs a file of invocations ([Batch]).
//
// # The life of an invocation
//
//	request --token, tenant, script, event--> accepted --slot free--> running --> finished
//	   |                                         |                       |
//	   | refused: 4xx, or 429 when the           | cancelled, or         | cancelled: its locks are
//	   | tenant's queue is full, or 503          | the host stops:       | released, then finished
//	   v while the host stops                    v finished, unrun       v
//
// Whatever was accepted gets exactly one result. A run that doesn't come back
// within 10 s after it was cancelled or its time limit was over gets its
// result all the same; it keeps its slot, and its locks run out by themselves.
//
// # Fairness
//
// There are limits of runs at once for the process, for each tenant and for
// each script. Above them invocations wait in the queue of their tenant, whose
// length is bounded. Tenants take turns: when a slot gets free, the tenant that
// was served the longest time ago and may have another run is next. So a quiet
// tenant waits for one run to end at most, and never for another's queue.
//
// # Stopping
//
// When the context of [Host.Serve] ends, the host is not ready any more, takes
// nothing new, and answers what has waited with Host.Shutdown, which can be
// retried elsewhere. What runs goes on, until [Config.StopReserve] is left of
// [Config.StopTimeout]; then it is cancelled and ends with Host.Shutdown too.
// Results are delivered meanwhile as ever. A host without work stops at once.
//
// # Schedules
//
// See [Schedule] for what is promised, and firing.go for how.
package task
