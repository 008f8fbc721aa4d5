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
// A lock of scope [Local] is a queue of this process's callers; the first of
// them holds the lock. A lock of scope [DB] is a row in a table that all
// processes share. The row is conditional: a put is applied only if there is no
// row, or one that has run out; a delete only if the row has the same owner. An
// owner is a random number that each call draws for itself.
//
//	           put: no row, or it has run out
//	+------+ ----------------------------------> +------+
//	| free |                                     | held |--+ put by others:
//	+------+ <---------------------------------- +------+<-+ refused, with the row
//	   ^        delete by the row's owner            |
//	   |                                             | the table's clock reaches until
//	   |        put by any caller, who then holds    v
//	   |        it (free -> held, in one step)    +---------+
//	   +------------------------------------------| run out |
//	            the table's own expiry, a day on  +---------+
//
// Each process has a queue in front of each row too. Only the first in it sends
// requests. What it does until it holds the lock, or gives up, is an
// acquisition: attempts of one put each, with pauses between them. The pauses
// grow and are random (back-off with jitter). This is one call of
// [Locks.Acquire], with the lease that follows:
//
//	started --queue--> first of this process --put--> holding --fn ends--> releasing --> done
//	   |                  |       ^    |                |                    |
//	   |                  |       |    | refused:       | lease ends:        | answered, or
//	   |                  |       +----+ pause, again   | fn is stopped,     | 2 s are over
//	   v                  v                             | then as if it      v
//	ErrHeld           ErrHeld, or an error              v had ended        row gone, or
//	                  (cleanup delete first)         releasing            runs out by itself
//
// A request is in doubt if it was sent and no answer says whether it was
// applied. A put in doubt may have stored a row that this call must not leave
// behind, so a call that gives up sends a cleanup delete. The doubt is resolved
// when a later put of the same call is refused because of its own row: the
// first one was applied.
//
// A process whose callers have passed a lock on to each other for 1.4 s or
// longer leaves it free for a cooldown, a quarter of that time and 1 s at most.
// In it the callers of other processes, which can only poll, get the lock.
//
// # The time in which a lease is valid
//
// A process measures elapsed time on two clocks at once, so that it knows a
// lower and an upper bound, ElapsedMin and ElapsedMax (see [clock.Dual]). The
// holder trusts its lease from the moment at which its call started (for
// [Request.Turn]: at which the put that succeeded was sent) until ElapsedMax
// has grown by the length of the lease. Of the table's clock the process knows
// an interval, from the Date of each answer (see [TableClock]); before a put it
// sends a probe, a delete that changes nothing, if the interval is too wide. An
// answer that contradicts the interval drops it, and begins a new epoch of the
// table's time. The row says when the lease ends in the table's time, and errs
// on the side of excluding others everywhere:
//
//	start = the latest that the table's clock can have shown when the call started
//	until = start + lease + lease/2000 + guard
//	:now  = the earliest that the table's clock can show when a put is sent
//
//	holder:  |<------------ lease ------------>| stopped
//	row:     |<------------ lease ------------>|<-l/2000->|<-- guard -->|
//	         start                                                      until <= :now: free
//
// So the row outlives the lease by the guard at least, whatever wall clocks
// show. The lease/2000 covers a machine whose oscillator is off by 500 ppm.
//
// # Why there is a guard, and why it is what it is
//
// When the lease ends the function is stopped, but not in zero time: there may
// be a garbage collection, a busy core, or a request that was sent a moment
// before the end and is now on its way to the table. The guard is the time
// that all of this together may take before exclusion is in danger. 2 s is
// more than an attempt of native.db may take (1.5 s), plus ample time to stop;
// below 1 s the guard would no longer cover a slow request, so smaller values
// are refused. It costs something only after a crash: a released lock is free
// at once.
//
// # What each failure does
//
//	the table's time isn't known    probe; without a usable answer pause, probe again
//	put refused                     pause, next attempt; when the wait is over: ErrHeld
//	put refused, the row is ours    an earlier put of this call was applied: acquired
//	put not applied (throttled...)  pause, next attempt; when the wait is over: that error
//	no table, access denied         that error, at once
//	put in doubt                    next attempt under the same owner; giving up sends a cleanup delete
//	put lands after the call ended  a row without a holder; it runs out by itself
//	put answered after the lease    deleted; Turn makes another attempt, otherwise ErrHeld
//	answer contradicts the time     deleted; the next attempt has a new owner
//	run ends during the wait        cleanup delete where needed, then the run's own error
//	budget used up during the wait  cleanup delete where needed, then the budget's error
//	fn raises, panics, is stopped   released like a return
//	fn leaves a write in doubt      row kept (see [Lease.LetExpire]): it runs out by itself
//	delete not applied, or in doubt again, up to three times in 2 s; then the row runs out
//	delete refused                  the row had run out, or an operator had freed it: done
//	holder's process dies           free at until: at most lease + guard + 4 s after the start
//	                                (the table's time is known to 2 s, twice), then one pause
//	holder cut off from the table   stopped at the end of its lease, by its own clock
//	machine suspended               elapsed time is the larger of what both clocks show:
//	                                stopped on waking; the table's time is probed anew
//
// # What is not promised
//
//   - A request of fn that was sent before the lease ended may reach its server
//     afterwards. tidelock bounds this by the guard; it cannot call a request
//     back.
//   - If both clocks of a machine stand still at once, so does the lease.
//   - An embedded table is read with this machine's wall clock: set forward
//     during a lease it takes the guard away, set back it keeps a crashed
//     holder's row for longer.
//   - An operator who frees a lock whose holder still runs gives its exclusion
//     up.
//   - Order between processes: inside one process callers are served in the
//     order in which they came; between processes the next poll wins.
//   - Locks don't span regions. In a multi-region table two regions accept
//     two holders.
package lock
