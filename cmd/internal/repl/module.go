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

// Terminal is where lines come from and results go.
type Terminal interface {
	// Line asks for the next line; ok is false if there is none any more.
	Line(prompt string) (text string, ok bool)
	// Say shows a text.
	Say(text string)
}

// Module returns the module native.repl, which only the loop's run should have.
func Module(t Terminal) native.Module {
	return native.Module{Name: "repl", Funcs: []native.Func{
		{Name: "line", Do: func(c *native.Call) error { // (prompt) -> text | nil
			text, ok := t.Line(c.String(1, "prompt"))
			if !ok {
				return c.Return(lua.LNil)
			}
			return c.Return(lua.LString(text))
		}},
		{Name: "say", Do: func(c *native.Call) error { // (text)
			t.Say(c.String(1, "text"))
			return nil
		}},
	}}
}
