package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db/dynamo"
	"github.com/tidelock-lua/tidelock/native/lock"
	engines "github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// The emulator accepts any region and credentials.
const (
	tableName = "bench"
	region    = "eu-west-1"
	secret    = "test"
)

// emulator returns the endpoint of an emulator that has the table. The first
// group that needs the emulator starts it, and all groups share it.
func (b *bench) emulator() (endpoint string, err error) {
	if b.endpoint != "" {
		return b.endpoint, nil
	}
	endpoint, end, err := dynamolocal.Run()
	if err != nil {
		return "", err
	}
	b.endpoint, b.stopEmulator = endpoint, end
	store, err := openDynamo(b, clock.NewDual(clock.System()), endpoint)
	if err != nil {
		return "", err
	}
	defer store.Close()
	_, err = store.CreateTable(b)
	return endpoint, err
}

func (b *bench) stop() {
	if b.stopEmulator != nil {
		b.stopEmulator()
	}
}

func openDynamo(ctx context.Context, clk *clock.Dual, endpoint string) (*dynamo.Store, error) {
	return dynamo.Open(ctx, clk, dynamo.Options{
		Table: tableName, Region: region, Endpoint: endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(secret, secret, ""),
	})
}

// process is an engine with locks over a table whose requests are counted.
type process struct {
	engine *engines.Engine
	table  *countingTable
	store  *dynamo.Store
}

func newProcess(ctx context.Context, endpoint string) (*process, error) {
	clk := clock.NewDual(clock.System())
	store, err := openDynamo(ctx, clk, endpoint)
	if err != nil {
		return nil, err
	}
	table := &countingTable{Table: store}
	return &process{newEngine(clk, table, lock.NewTableClock(0, nil)), table, store}, nil
}

// run runs a script with limits that it does not reach.
func (p *process) run(ctx context.Context, source string, event any) (json []byte, err error) {
	r := p.engine.Run(ctx, engines.Invocation{
		Tenant: "bench", Script: "bench.lua", Source: source, Event: event, Log: discard{},
		Limits: tenant.Limits{Timeout: 1 << 40, DataOps: 1 << 40},
	})
	if r.Error != nil {
		return nil, r.Error
	}
	return r.JSON, nil
}
