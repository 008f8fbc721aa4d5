// Package lock is native.lock: mutual exclusion for work that must not run
// twice at once, under a lease that is enforced.
//
// # What a lease is
//
// A lease is the right to run one function until a moment that is fixed
// before the function starts. It is never renewed and never lengthened. The
// run's own machinery stops the function when the lease ends, so a holder
// needs no answer from anywhere to learn that its time is over: a process that
// is cut off from the table stops as punctually as any other.
//
// A lock of scope [Local] is a place in a queue of this process. A lock of
// scope [DB] is a row in a table that all processes share:
//
//	           put: no row, or it has run out
//	+------+ ----------------------------------> +------+
//	| free |                                     | held |--+ put by others:
//	+------+ <---------------------------------- +------+<-+ refused, with the row
//	   ^        delete by the row's owner            |
//	   |                                             | the table's clock reaches until
//	   |        put by anybody, who then holds it    v
//	   |        (free -> held, in the same step)  +---------+
//	   +------------------------------------------| run out |
//	            the table's own expiry, a day on  +---------+
//
// And one call, from asking to the end:
//
//	asking --queue--> first of this process --put--> holding --fn ends--> releasing --> done
//	  |                  |       ^    |                |                    |
//	  |                  |       |    | refused:       | lease ends:        | answered, or
//	  |                  |       +----+ pause, again   | fn is stopped,     | 2 s are over
//	  v                  v                             | then as if it      v
//	not acquired      not acquired, or an error        v had ended        row gone, or
//	(false)           (give-up delete first)         releasing            runs out by itself
//
// # The trust window
//
// The holder trusts its lease from the moment at which asking began (for
// [Request.Turn]: at which the attempt that succeeded was sent) for the length
// of the lease, read on the fast hand of its process (see [clock.Dual]). The row
// says the same in the table's time, and errs on the other side everywhere:
//
//	start = the latest that the table's clock can have shown when asking began
//	until = start + lease + lease/2000 + guard
//	:now  = the earliest that the table's clock can show when a put is sent
//
//	holder:  |<------------ lease ------------>| stopped
//	row:     |<------------ lease ------------>|<-l/2000->|<-- guard -->|
//	         start                                                      until <= :now: free
//
// So the row outlives the lease by the guard at least, whatever wall clocks
// show. The lease/2000 covers a machine whose oscillator is off by 500 ppm.
// [TableClock] explains how the table's time is known.
//
// # Why there is a guard, and why it is what it is
//
// When the lease ends the function is stopped, but not in zero time: a
// garbage collection, a busy core, a request that passed its gate a moment
// before the end and is now on its way to the table. The guard is the time
// that all of this together may take before exclusion is in danger. 2 s is
// more than an attempt of native.db may take (1.5 s), plus ample time to stop;
// below 1 s the guard would no longer cover a slow request, so smaller values
// are refused. It costs something only after a crash: a released lock is free
// at once.
//
// # What each failure does
//
//	the table's time isn't known    ask for it; while no answer tells it, wait and ask again
//	put refused                     wait and ask again; when the wait is over: not acquired
//	put refused, the row is ours    an earlier attempt of this call got through: acquired
//	put not applied (throttled...)  wait and ask again; when the wait is over: that error
//	no table, access denied         that error, at once
//	put of unknown outcome          ask again under the same owner; giving up sends one delete
//	put lands after we gave up      a row that nobody owns; it runs out by itself
//	put answered after the lease    deleted; Turn asks again, otherwise not acquired
//	answer contradicts the time     deleted, and asked again under a new owner
//	run ends while waiting          give-up delete where needed, then the run's own error
//	budget used up while waiting    give-up delete where needed, then the budget's error
//	fn raises, panics, is stopped   released like a return
//	fn leaves a write behind whose
//	outcome nobody knows            row kept (see [Lease.LetExpire]): it runs out by itself
//	delete not applied, or unknown  again, up to three times in 2 s; then the row runs out
//	delete refused                  the row had run out, or an operator had freed it: done
//	holder's process dies           free at until: at most lease + guard + 4 s after asking
//	                                (the table's time is known to 2 s, twice), then one pause
//	holder cut off from the table   stopped at the end of its lease, by its own clock
//	machine suspended               elapsed time is the larger of what both clocks show:
//	                                stopped on waking; the table's time is asked for anew
//
// # What is not promised
//
//   - A request of fn that passed its gate before the lease ended may reach
//     its server afterwards. tidelock bounds this by the guard; it cannot call
//     a request back.
//   - Both clocks of a machine standing still at once stop the lease with them.
//   - An embedded table is read with this machine's wall clock: put forward
//     during a lease it takes the guard away, put back it keeps a crashed
//     holder's row for longer.
//   - ReleaseResult a lock whose holder still runs gives its exclusion up.
//   - Order between processes: inside one process callers are served in the
//     order in which they came; between processes the next poll wins.
//   - Locks don't span regions. In a multi-region table two regions accept
//     two holders.
package lock
