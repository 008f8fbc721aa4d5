// Package repl evaluates lines in one run, as they are typed. Its loop is a
// script, with a native module that reads lines and prints results.
package repl

import (
	"context"
	_ "embed" // repl.lua

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/outcome"
)

//go:embed repl.lua
var source string

// Source returns the script that reads, evaluates and prints until the end of
// the input.
func Source() string { return source }

// Console is where lines are read and results are printed.
type Console interface {
	// ReadLine returns the next line; ok is false at the end of the input.
	ReadLine(prompt string) (text string, ok bool)
	// Print prints a text as a line.
	Print(text string)
	// Evaluating is called before an evaluation. The end of ctx interrupts it; done
	// is called when it is over.
	Evaluating() (ctx context.Context, done func())
}

// Module returns the module native.repl, which only the loop's run should have.
func Module(console Console) native.Module {
	return native.Module{Name: "repl", Funcs: []native.Func{
		{Name: "line", Args: native.AnyArgs, Do: func(c *native.Call) error { // (prompt) -> text | nil, also as an iterator
			text, ok := console.ReadLine(c.String(1, "prompt"))
			if !ok {
				return c.Return(lua.LNil)
			}
			return c.Return(lua.LString(text))
		}},
		{Name: "say", Args: 1, Do: func(c *native.Call) error { // (text)
			console.Print(c.String(1, "text"))
			return nil
		}},
		{Name: "evaluate", Args: 1, Do: func(c *native.Call) error { // (function) -> what it returns
			c.Function(1)
			return evaluate(c, console)
		}},
	}}
}

// errInterrupted is the error of an evaluation that Ctrl-C has ended.
var errInterrupted = &outcome.Error{Code: "interrupted", Message: "by Ctrl-C"}

func evaluate(c *native.Call, console Console) error {
	ctx, done := console.Evaluating()
	defer done()
	result := c.Run.WithinContext(c.L, ctx, 1, 0)
	if result.Expired {
		return errInterrupted
	}
	return c.Finish(result)
}
