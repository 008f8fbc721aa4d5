// Package conformance runs Lua's own test files in the sandbox that scripts
// get. The files come with gopher-lua and are read from the module cache; what
// of them is left out, and why, is listed in leftout.go.
package conformance
