package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"go.uber.org/zap"

	"github.com/tidelock-lua/tidelock/lambda"
	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/clock"
	engines "github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/test/lambdaapi"
)

const (
	functionRounds = 60
	functionTurn   = 50 // invocations of a function in one turn

	bareFunction    = "aws-lambda-go"
	functionTimeout = time.Minute // of an invocation
)

// functionPayload is an envelope: tidelock runs the script echo of a tenant with
// the event, which the script returns.
const functionPayload = `{"tenant":"bench","script":"echo","event":{"order":17}}`

// serveFunction serves the Runtime API that the environment names, until the
// process is killed.
func serveFunction(contender string) error {
	if contender == bareFunction {
		awslambda.StartWithOptions(echoHandler{})
	}
	host, _, err := newFunctionHost(jsonLog(os.Stdout))
	if err != nil {
		return err
	}
	host.Serve()
	return errors.New("the function has ended")
}

// echoHandler returns its payload.
type echoHandler struct{}

func (echoHandler) Invoke(_ context.Context, payload []byte) ([]byte, error) { return payload, nil }

func newFunctionHost(log *zap.Logger) (*lambda.Host, *engines.Engine, error) {
	clk := clock.NewDual(clock.System())
	engine := newEngine(clk, nil, nil)
	host, err := lambda.New(lambda.Config{
		Engine: engine, Clock: clk, Tenants: hostScripts, Log: log,
		RunLog: func(*zap.Logger, *engines.Invocation) native.Logger { return discard{} },
	})
	return host, engine, err
}

// lambdaHost measures invocations from the event to the request for the next
// one. Each function is a process of its own with a Runtime API of its own.
func lambdaHost(b *bench) error {
	var functions []*function
	for _, c := range []struct{ name, goal string }{{bareFunction, ""}, {tidelock, ""}} {
		f, end, err := startFunction(b, c.name)
		if err != nil {
			return err
		}
		defer end()
		functions = append(functions, f)
		if err := f.invoke(b, functionTurn); err != nil { // makes connections and compiles scripts
			return err
		}
		f.took = nil
	}
	inside, err := newInProcess()
	if err != nil {
		return err
	}
	for range functionRounds {
		for _, f := range functions {
			if err := f.invoke(b, functionTurn); err != nil {
				return err
			}
		}
		if err := inside.invoke(b, functionTurn); err != nil {
			return err
		}
	}
	bare, ours := functions[0], functions[1]
	var rows [][]string
	for _, row := range []struct {
		name string
		took []time.Duration
	}{
		{"aws-lambda-go, the bytes back", bare.took}, {"tidelock, the event back", ours.took},
		{"of that, Host.Invoke", inside.host}, {"of that, the run", inside.run},
	} {
		slices.Sort(row.took)
		rows = append(rows, []string{row.name, formatDuration(row.took[0]), formatDuration(percentile(row.took, 50)), formatDuration(percentile(row.took, 99)),
			ratio(percentile(row.took, 50), percentile(bare.took, 50))})
	}
	b.table([]string{"one invocation", "least", "p50", "p99", "p50 of the 1st"}, rows)
	return nil
}

// function is a process that serves a Runtime API.
type function struct {
	name  string
	api   *lambdaapi.API
	ended chan error
	took  []time.Duration
}

func startFunction(ctx context.Context, contender string) (*function, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	api, endAPI := lambdaapi.Run()
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-function", contender)
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+api.Address)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	f := &function{name: contender, api: api, ended: make(chan error, 1)}
	if err := cmd.Start(); err != nil {
		kill()
		endAPI()
		return nil, nil, err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		f.ended <- fmt.Errorf("%s has ended: %w: %s", contender, cmd.Wait(), stderr.String())
	}()
	return f, func() {
		kill()
		<-exited
		endAPI()
	}, nil
}

// invoke sends events one after the other.
func (f *function) invoke(ctx context.Context, n int) error {
	for range n {
		from := time.Now()
		p := f.api.Send(lambdaapi.Invocation{Payload: functionPayload, Timeout: functionTimeout})
		select {
		case <-p.Complete:
		case err := <-f.ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		f.took = append(f.took, time.Since(from))
		if a := <-p.Responded; !a.OK() {
			return fmt.Errorf("%s: got %s: %s", f.name, a.Path, a.Body)
		}
	}
	return nil
}

// inProcess is the host without the Runtime API, and the engine alone.
type inProcess struct {
	*lambda.Host
	engine    *engines.Engine
	event     engines.Invocation
	host, run []time.Duration
}

func newInProcess() (*inProcess, error) {
	host, engine, err := newFunctionHost(zap.NewNop())
	if err != nil {
		return nil, err
	}
	inv, failed := hostScripts.Resolve("bench", "echo", []byte(`{"order":17}`))
	if failed != nil {
		return nil, failed
	}
	inv.Log = discard{}
	return &inProcess{Host: host, engine: engine, event: *inv}, nil
}

func (i *inProcess) invoke(parent context.Context, n int) error {
	for range n {
		ctx, cancel := context.WithTimeout(parent, functionTimeout)
		from := time.Now()
		_, err := i.Invoke(ctx, []byte(functionPayload))
		i.host = append(i.host, time.Since(from))
		cancel()
		if err != nil {
			return err
		}
		from = time.Now()
		r := i.engine.Run(parent, i.event)
		i.run = append(i.run, time.Since(from))
		if r.Error != nil {
			return r.Error
		}
	}
	return nil
}
