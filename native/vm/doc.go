// Package vm runs Lua for tenants that don't trust each other: one [Run] per
// invocation of a script. It makes gopher-lua's interpreter stop at any
// instruction, count what a script takes, and recover from whatever happens.
//
// # Safepoints
//
// gopher-lua asks the context of a thread for its Done channel before each
// instruction. Every thread of a run has the same context, the run itself under
// an unexported type, and its Done only counts. Every 256 steps it polls: it
// reads both clocks, and checks the instruction limit and the host's
// cancellation; every 200 µs it also yields the processor. The channel stays nil
// until the run is interrupted; from then on each instruction raises.
//
// # Deadlines and interrupts
//
// A run has a stack of deadlines: its own time limit, then one for each
// native.deadline.with and each lease that is open. When one has passed, the
// run's [Interrupt] says what the cause is and which frame it belongs to. While
// it is set, every protected call passes the error on, whatever its text, until
// that frame is reached. There, and only there, the interrupt is removed and
// becomes an ordinary error. What is to blame is read from the interrupt, never
// from an error.
//
// # Threads
//
// Each protected call runs its function on a Lua thread of its own, under
// recover: an error then closes the upvalues of the failed frames only, and a
// panic ruins no thread that is still used. Coroutines run on iter.Pull, so a
// yield may cross any Go function.
//
// # Memory
//
// A [MemoryWatcher] makes every run poll at least every 2 ms, and reads the heap
// of the process. A run that may be over its limit is measured, by walking what
// it can reach. When all runs together hold too much, the largest is evicted.
package vm
