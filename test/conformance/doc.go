// Package conformance runs Lua's own test files in the sandbox of scripts. The
// files come with gopher-lua and are read from the module cache. The parts that
// are left out, and why, are listed in leftout.go.
package conformance
