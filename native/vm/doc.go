// Package vm is the machine room: one [Run] per invocation of a script, and
// what makes gopher-lua's interpreter stop, account and recover.
//
// # The hook
//
// gopher-lua asks the context of a thread for its Done channel before each
// instruction. Every thread of a run has one and the same context, the run
// itself under an unexported type, and its Done only counts. Every 256 steps
// it looks: at both clocks, at the instruction limit, at the host's
// cancellation; and every 200 µs it hands the processor on. The channel stays
// nil until something has ended; from then on each instruction raises.
//
// # Ends and the kill token
//
// A run carries a stack of ends: its own time limit, then one for each
// deadline or lease that is open. When one has passed, the run's kill token
// says which limit fired and whose frame owns it. While the token is set every
// protected call passes the error on, whatever its text, until the owner's
// frame is reached. There, and only there, the token is taken off and the
// error becomes an ordinary one. Who is to blame is read from the token, never
// from an error.
//
// # Threads
//
// Each protected call runs its function on a Lua thread of its own, under
// recover: an error then closes the upvalues of the failed frames only, and a
// panic ruins no thread that anybody still uses. Coroutines run on iter.Pull,
// so a yield may cross any Go function.
package vm
