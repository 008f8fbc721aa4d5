// Package value names the types of the data that crosses between Lua and Go:
// what a script stores, sends, logs or returns.
//
// Such data is a tree of these types and no others: [Null], bool, float64,
// string, [List], [Map]. A string may be any bytes, as in Lua. nil stands for
// Lua's nil: there is no value.
package value

// Null is an explicit null: native.db.null, and null in JSON.
type Null struct{}

// List is a Lua table with exactly the keys 1..n, or one marked by
// native.db.list.
type List []any

// Map is a Lua table with string keys. Keys are valid UTF-8 and not empty.
type Map map[string]any
