// Package sim runs the real protocol of native.lock in a simulation that follows
// from one number, its seed: many processes at once, machines with bad clocks,
// a bad network, a table, crashes. The same seed gives the same history, to the
// last request.
//
// A [simulation] owns all time. Every caller is a coroutine, one of which runs
// at a time, and the protocol blocks only in what the simulation gives it: its
// Clock, its Table, the Timeout and Jitter of its options and the Done of its
// context. A process knows of time only what its machine's clocks show. The
// true time, which no process can see, is in the simulation, and the properties
// are checked by it.
//
// The holders of a lock do what locks are for: they read a counter, work, and
// write it back. An overlap of two holders is noticed in three ways: a holder
// acts after another one has acquired the lock, an update is lost, or the
// history is one that no lock could have (see [lockModel]).
//
// README.md describes what is modelled, what isn't, and what was found.
package sim
