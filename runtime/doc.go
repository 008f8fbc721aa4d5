// Package runtime runs a tenant's script for an invocation: one [Invocation]
// in, exactly one [Result] out, whatever the script does.
//
// A run starts in a fresh Lua state with the libraries of runtime/lualib and
// the native modules that the host has chosen. Nothing survives it but what
// its native calls have stored.
package runtime
