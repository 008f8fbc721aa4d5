package native_test

import (
	"context"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
)

// newText returns the module native.text.
func newText() native.Module {
	return native.Module{Name: "text", Funcs: []native.Func{
		{Name: "repeated", Do: repeated}, // (text, { times }) -> text
	}}
}

// repeated reads its arguments, which raises an error for wrong ones, and charges
// the run for what it makes. What goes wrong outside of the script is returned.
func repeated(c *native.Call) error {
	text := c.Text(1, "text", 1000)
	times := c.Options(2, "times").Int("times", 2, 1, 1000)
	if strings.Contains(text, "\x00") {
		return &outcome.Error{Code: "text_zero", Op: "repeated", Message: "a zero byte can't be repeated"}
	}
	c.Run.Charge(int64(times * len(text)))
	return c.Return(lua.LString(strings.Repeat(text, times)))
}

// A Go function becomes a field of the global table native.
func Example() {
	run(newText(), `
		print(native.text.repeated("tide"))
		print(native.text.repeated("tide", { times = 3 }))
		print(pcall(native.text.repeated, "tide", { tims = 3 }))
		local _, err = pcall(native.text.repeated, "\0")
		print(err.code, err)`)
	// Output:
	// tidetide
	// tidetidetide
	// false	bad argument #2 to 'repeated' (unknown option "tims", did you mean "times"?)
	// text_zero	text_zero in repeated: a zero byte can't be repeated
}

// counter is what a script holds by a handle.
type counter struct{ n int }

// counters are the methods of that handle, shared by all runs.
var counters = native.Methods("counter", native.Func{Name: "add", Do: func(c *native.Call) error {
	self := native.Self[*counter](c, "a counter")
	self.n += int(c.Number(1, "n", 0, 100))
	return c.Return(lua.LNumber(self.n))
}})

// A handle is a value with methods that a script calls with a colon.
func ExampleSelf() {
	run(native.Module{Name: "counter", Funcs: []native.Func{
		{Name: "new", Do: func(c *native.Call) error { return c.Return(native.NewHandle(&counter{}, counters)) }},
	}}, `
		local c = native.counter.new()
		c:add(2)
		print(c:add(3))
		print(pcall(c.add, 3))`)
	// Output:
	// 5
	// false	bad argument #1 to 'add' (self: got number, want a counter: call it with a colon)
}

// run runs a script that may use the module.
func run(m native.Module, source string) {
	engine := runtime.New(runtime.Config{HostKind: "example", Modules: []native.Module{m}})
	result := engine.Run(context.Background(), runtime.Invocation{
		Tenant: "acme", Script: "example.lua", Source: source, Log: printed{},
	})
	if result.Error != nil {
		fmt.Println(result.Error)
	}
}

// printed is a log that shows what a script prints.
type printed struct{}

func (printed) Log(_, message string, _ value.Map) { fmt.Println(message) }
