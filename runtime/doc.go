// Package runtime runs a tenant's script for an invocation: one [Invocation]
// in, exactly one [Result] out, whatever the script does.
//
// An [Engine] compiles the script, or finds it in its cache, and runs it in a
// fresh Lua state with the library of runtime/lualib and the host's native
// modules. Nothing of a run remains but what its native calls have stored. Each
// run is bounded by its tenant.Limits, and a scheduler shares the processors
// fairly among tenants.
package runtime
