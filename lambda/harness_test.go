package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/module/coremodule"
	"github.com/tidelock-lua/tidelock/native/module/deadlinemodule"
	"github.com/tidelock-lua/tidelock/native/module/jsonmodule"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// scripts are those of every tenant under test.
var scripts = fstest.MapFS{
	"echo.lua": {Data: []byte(`return function(event) return event end`)},
	"reply.lua": {Data: []byte(`return function(event)
		event.body = event.body and #event.body
		return { body = event }
	end`)},
	"nothing.lua": {Data: []byte(`return nil`)},
	"spin.lua":    {Data: []byte(`while true do end`)},
	"stuck.lua":   {Data: []byte(`native.test.stick()`)},
	"panic.lua":   {Data: []byte(`native.test.panic()`)},
	"left.lua":    {Data: []byte(`return native.deadline.remaining()`)},
	"work.lua": {Data: []byte(`return function(event)
		native.sleep(event.body.ms or 0)
		if event.body.fails then error({ code = "bad", message = event.id }) end
	end`)},
	"raise.lua": {Data: []byte(`
		local function inner() error("no such order") end
		local function outer() inner() return 1 end
		outer()
		return 1`)},
	"broken.lua": {Data: []byte("return return")},
	"say.lua":    {Data: []byte(`print("hello")`)},
}

// function is a host in fake time with tenants acme and beta.
type function struct {
	*lambda.Host
	t     *testing.T
	clock *clock.Dual
	log   *observer.ObservedLogs
	// events counts the events that runs were started for.
	begun *atomic.Int32
	stuck chan struct{} // native.test.stick waits for it
}

// inFakeTime runs test with a function in a bubble of fake time.
func inFakeTime(t *testing.T, configure func(*lambda.Config), test func(t *testing.T, f *function)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFunction(t, configure, func() { time.Sleep(time.Millisecond) })) })
}

func newFunction(t *testing.T, configure func(*lambda.Config), yield func()) *function {
	t.Helper()
	f := &function{t: t, clock: clock.NewDual(clock.System()), begun: &atomic.Int32{}, stuck: make(chan struct{})}
	level, logs := observer.New(zap.DebugLevel)
	f.log = logs
	log := zap.New(level)
	c := lambda.Config{
		Clock: f.clock, Log: log,
		Engine: runtime.New(runtime.Config{
			Clock: f.clock, HostKind: "lambda", HostName: "test", Yield: yield,
			Modules: []native.Module{coremodule.New(), deadlinemodule.New(), jsonmodule.New(), {Name: "test", Funcs: []native.Func{
				{Name: "stick", Do: func(*native.Call) error { <-f.stuck; return nil }},
				{Name: "panic", Do: func(*native.Call) error { panic("the secret of the host") }},
			}}},
		}),
		Tenants: runtime.Directory{
			"acme": {ID: "acme", Scripts: []fs.FS{scripts}},
			"beta": {ID: "beta", Scripts: []fs.FS{scripts}, Limits: tenant.Limits{Timeout: time.Second, ResultBytes: 100}},
		},
		RunLog: func(log *zap.Logger, inv *runtime.Invocation) native.Logger {
			f.begun.Add(1)
			return scriptLog{log.With(zap.String("runId", inv.ID))}
		},
	}
	if configure != nil {
		configure(&c)
	}
	host, err := lambda.New(c)
	if err != nil {
		t.Fatal(err)
	}
	f.Host = host
	return f
}

type scriptLog struct{ *zap.Logger }

func (l scriptLog) Log(_, message string, _ value.Map) { l.Info(message) }

// routed configures routes.
func routed(routes ...lambda.Route) func(*lambda.Config) {
	return func(c *lambda.Config) { c.Routes = routes }
}

// all sends everything to a script of acme.
func all(script string) func(*lambda.Config) {
	return routed(lambda.Route{Match: "*", Tenant: "acme", Script: script})
}

// call is how an invocation came.
type call struct {
	timeout time.Duration // default 3 s
	lambdacontext.LambdaContext
}

// invoke is one invocation. Errors are shown as "type: message".
func (f *function) invoke(payload string, c call) (response, failed string) {
	f.t.Helper()
	if c.timeout == 0 {
		c.timeout = 3 * time.Second
	}
	if c.AwsRequestID == "" {
		c.AwsRequestID = "request-1"
	}
	return f.invokeUntil(time.Now().Add(c.timeout), payload, c)
}

// invokeAt is one invocation with a deadline.
func (f *function) invokeAt(deadline time.Time) (response, failed string) {
	f.t.Helper()
	return f.invokeUntil(deadline, "", call{})
}

func (f *function) invokeUntil(deadline time.Time, payload string, c call) (response, failed string) {
	f.t.Helper()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	got, err := f.Invoke(lambdacontext.NewContext(ctx, &c.LambdaContext), []byte(payload))
	if err == nil {
		if !json.Valid(got) {
			f.t.Errorf("the response is not JSON: %q", got)
		}
		return string(got), ""
	}
	var e messages.InvokeResponse_Error
	if !errors.As(err, &e) || got != nil {
		f.t.Fatalf("got %q, %T %v; want an error of the platform, by value", got, err, err)
	}
	return "", e.Type + ": " + e.Message
}

// want compares a response.
func (f *function) want(payload string, c call, response, failed string) {
	f.t.Helper()
	got, e := f.invoke(payload, c)
	if got != response || failed == "" && e != "" || !strings.HasPrefix(e, failed) {
		f.t.Errorf("%s\n got %s %s\nwant %s %s", payload, got, e, response, failed)
	}
}

// body is the body of an HTTP response.
func body(t *testing.T, response string) string {
	t.Helper()
	var a struct {
		Body string
	}
	if err := json.Unmarshal([]byte(response), &a); err != nil {
		t.Fatalf("%v: %s", err, response)
	}
	return a.Body
}

// renamed is a folder with one script, under any name.
type renamed struct{ fs.FS }

func (r renamed) Open(string) (fs.File, error) { return r.FS.Open("returning.lua") }
