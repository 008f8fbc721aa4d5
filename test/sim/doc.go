// Package sim runs the real protocol of native.lock, many processes at once,
// in a world that is made of nothing but a seed: machines with bad clocks, a
// bad network, a table, crashes. The same seed gives the same run, to the last
// request.
//
// A [world] owns all time. Every caller is a coroutine, exactly one of which
// runs, and the protocol blocks only in what the world gives it: its Clock,
// its Table, the Timeout and Jitter of its options and the Done of its
// context. What the processes believe about time is up to their machines; the
// truth, which none of them can see, is in the world, and judges them.
//
// The holders of a lock do what locks are for: they read a counter, work, and
// write it back. Whoever overlaps with somebody else is seen in three ways: as
// a holder that acts after somebody else has acquired, as an update that is
// lost, and as a history that no lock could have (see [judge]).
//
// README.md says what is modelled, what isn't, and what was found.
package sim
