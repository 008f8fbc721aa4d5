// Package repl evaluates what is typed, line after line, in one run: its loop
// is a script, with a native module that asks for lines and shows results.
package repl

import (
	_ "embed" // repl.lua

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
)

//go:embed repl.lua
var source string

// Source is the script that asks, evaluates and shows, until there is no more
// line.
func Source() string { return source }

// Console is where lines come from and results go.
type Console interface {
	// ReadLine asks for the next line; ok is false if there is none any more.
	ReadLine(prompt string) (text string, ok bool)
	// Print shows a text.
	Print(text string)
}

// Module returns the module native.repl, which only the loop's run should have.
func Module(t Console) native.Module {
	return native.Module{Name: "repl", Funcs: []native.Func{
		{Name: "line", Do: func(c *native.Call) error { // (prompt) -> text | nil
			text, ok := t.ReadLine(c.String(1, "prompt"))
			if !ok {
				return c.Return(lua.LNil)
			}
			return c.Return(lua.LString(text))
		}},
		{Name: "say", Do: func(c *native.Call) error { // (text)
			t.Print(c.String(1, "text"))
			return nil
		}},
	}}
}
