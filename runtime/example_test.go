package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// printLog logs to the standard output.
type printLog struct{}

func (printLog) Log(level, message string, _ value.Map) { fmt.Println(level, message) }

// One engine serves a process; each invocation is a run of its own.
func Example() {
	engine := runtime.New(runtime.Config{
		HostKind: "example",
		Modules:  []native.Module{deadlinemodule.New()},
	})
	result := engine.Run(context.Background(), runtime.Invocation{
		Tenant: "acme",
		Script: "hello.lua",
		Source: `return function(event) print("hello", event.name) return { length = #event.name } end`,
		Event:  value.Map{"name": "tide"},
		Limits: tenant.Limits{Timeout: time.Second},
		Log:    printLog{},
	})
	fmt.Println(string(result.JSON), result.Error)
	// Output:
	// info hello	tide
	// {"length":4} <nil>
}

// A run that doesn't end by itself is interrupted, and the result's error names
// the limit.
func Example_timeout() {
	engine := runtime.New(runtime.Config{HostKind: "example"})
	result := engine.Run(context.Background(), runtime.Invocation{
		Tenant: "acme", Script: "spin.lua", Source: `while true do end`,
		Limits: tenant.Limits{Timeout: 10 * time.Millisecond}, Log: printLog{},
	})
	fmt.Println(result.Error, result.Error.Type.HTTPStatus())
	// Output:
	// Script.Timeout: the run took longer than its timeout of 10ms 504
}
