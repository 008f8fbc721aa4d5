package lambda_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/runtime"
)

// A host runs the script of the tenant that the event's envelope names, and
// responds with its result. A program on AWS Lambda calls [lambda.Host.Serve]
// instead, which takes its invocations from the platform.
func ExampleHost_Invoke() {
	scripts := fstest.MapFS{"total.lua": {Data: []byte(`
		return function(order)
			local cents = 0
			for _, line in ipairs(order.lines) do
				cents = cents + line.cents * line.quantity
			end
			return { order = order.id, cents = cents }
		end
	`)}}
	clk := clock.NewDual(clock.System())
	host, err := lambda.New(lambda.Config{
		Clock: clk,
		Engine: runtime.New(runtime.Config{
			Clock: clk, HostKind: "lambda",
			Modules: []native.Module{coremodule.New()},
		}),
		Tenants: runtime.Directory{"acme": {ID: "acme", Scripts: []fs.FS{scripts}}},
		Log:     zap.NewNop(),
		RunLog:  func(log *zap.Logger, _ *runtime.Invocation) native.Logger { return scriptLog{log} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The platform gives an invocation a deadline and the id of its request.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "8476a536"})

	response, err := host.Invoke(ctx, []byte(`{
		"tenant": "acme", "script": "total",
		"event": {"id": 7, "lines": [{"cents": 250, "quantity": 2}, {"cents": 99, "quantity": 1}]}
	}`))
	fmt.Printf("%s %v\n", response, err)
	// Output: {"cents":599,"order":7} <nil>
}
