// Package schedule runs scripts at their due times, once in all processes that
// share a store.
//
// # Guarantees
//
// Any number of processes may have a [Schedule]: each of its due times begins at
// most one run in all of them, and exactly one as long as one of them lives and
// can reach the store.
//
// A run that has begun isn't repeated: if its process dies, it is lost. One that
// hasn't, because its process died between acquiring the lock and beginning, is
// taken over by another process once the lock has run out: after the script's
// time limit, 5 s, and the guard of the lock.
//
// Due times are read from the wall clock of each machine; one whose clock is
// ahead is early.
//
// # How
//
// A recurrence says which times are due: cron, in the local time of a zone, or a
// fixed interval. The cursor says up to which due time everything is decided: a
// document in a reserved partition of native.db. Between both lie the times
// that are still to be decided; what happens to them, if there are several or a
// run of an earlier one goes on, is the matter of [Overlap] and [Missed].
//
// A [Scheduler] has a loop for each schedule. It gets a slot from its [Host],
// acquires the schedule's lock, moves the cursor and runs the script. The write
// of the cursor decides which process runs it; see the type loop.
package schedule
