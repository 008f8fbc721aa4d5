// Package value names the types of data that cross between Lua and Go, in plain
// Go: what a script stores, sends, logs or returns is a tree of them.
//
// A script's data crosses into Go as a tree of these types and no others:
// [Null], bool, float64, string, [List], [Map]. A Lua string may be any bytes;
// so may a Go string here. nil stands for Lua's nil: "nothing there".
package value

// Null is an explicit null: native.db.null, and null in JSON.
type Null struct{}

// List is a Lua table with exactly the keys 1..n, or one marked by
// native.db.list.
type List []any

// Map is a Lua table with string keys. Keys are valid UTF-8 and not empty.
type Map map[string]any
