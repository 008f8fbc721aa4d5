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
	functionTurn   = 50 // invocations of one function before the next one's turn

	bareFunction = "aws-lambda-go"
	functionFor  = time.Minute // the platform's time for an invocation
)

// functionPayload is for our function the event {"order": 17} of a tenant's
// script, which returns it.
const functionPayload = `{"tenant":"bench","script":"echo","event":{"order":17}}`

// beFunction makes this process a function that answers what the Runtime API of
// the environment hands out. It ends when it is killed.
func beFunction(contender string) error {
	if contender == bareFunction {
		awslambda.StartWithOptions(bytesBack{})
	}
	host, _, err := newFunctionHost(jsonLog(os.Stdout))
	if err != nil {
		return err
	}
	host.Serve()
	return errors.New("the function has ended")
}

// bytesBack answers with what it gets.
type bytesBack struct{}

func (bytesBack) Invoke(_ context.Context, payload []byte) ([]byte, error) { return payload, nil }

func newFunctionHost(log *zap.Logger) (*lambda.Host, *engines.Engine, error) {
	clk := clock.NewDual(clock.System())
	engine := newEngine(clk, nil, nil)
	host, err := lambda.New(lambda.Config{
		Engine: engine, Clock: clk, Tenants: hostScripts, Log: log,
		RunLog: func(*zap.Logger, *engines.Invocation) native.Logger { return discard{} },
	})
	return host, engine, err
}

// lambdaHost measures invocations of functions, each a process of its own on a
// Runtime API of its own, from the event to the question for the next one.
func lambdaHost(b *bench) error {
	var functions []*function
	for _, c := range []struct{ name, goal string }{{bareFunction, ""}, {tidelock, ""}} {
		f, end, err := startFunction(b, c.name)
		if err != nil {
			return err
		}
		defer end()
		functions = append(functions, f)
		if err := f.invoke(b, functionTurn); err != nil { // connections are made, and scripts compiled
			return err
		}
		f.took = nil
	}
	inside, err := newInside()
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
		rows = append(rows, []string{row.name, short(row.took[0]), short(percentile(row.took, 50)), short(percentile(row.took, 99)),
			times(percentile(row.took, 50), percentile(bare.took, 50))})
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
	var said strings.Builder
	cmd.Stderr = &said
	f := &function{name: contender, api: api, ended: make(chan error, 1)}
	if err := cmd.Start(); err != nil {
		kill()
		endAPI()
		return nil, nil, err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		f.ended <- fmt.Errorf("%s has ended: %w: %s", contender, cmd.Wait(), said.String())
	}()
	return f, func() {
		kill()
		<-gone
		endAPI()
	}, nil
}

// invoke sends events one after the other.
func (f *function) invoke(ctx context.Context, n int) error {
	for range n {
		from := time.Now()
		p := f.api.Send(lambdaapi.Invocation{Payload: functionPayload, Timeout: functionFor})
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

// inside is our function without the Runtime API, and its engine alone.
type inside struct {
	*lambda.Host
	engine    *engines.Engine
	event     engines.Invocation
	host, run []time.Duration
}

func newInside() (*inside, error) {
	host, engine, err := newFunctionHost(zap.NewNop())
	if err != nil {
		return nil, err
	}
	inv, failed := hostScripts.Resolve("bench", "echo", []byte(`{"order":17}`))
	if failed != nil {
		return nil, failed
	}
	inv.Log = discard{}
	return &inside{Host: host, engine: engine, event: *inv}, nil
}

func (i *inside) invoke(parent context.Context, n int) error {
	for range n {
		ctx, cancel := context.WithTimeout(parent, functionFor)
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
