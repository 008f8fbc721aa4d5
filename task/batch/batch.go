package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner"
)

// Config is what a batch is run with.
type Config struct {
	// Engine runs the scripts. Required.
	Engine runner.Engine
	// Tenants are those that it runs for.
	Tenants runtime.Directory
	// Concurrency is how many scripts run at once. The default is 16.
	Concurrency int
	// Ordered writes results in the order of their lines. What is finished
	// waits for what isn't. Up to four times Concurrency are held back by that,
	// or by a slow reader of the results.
	Ordered bool
	// StopTimeout and StopReserve are those of [runner.StopTimes].
	StopTimeout, StopReserve time.Duration
	// ForceStop is closed to cancel what runs at once, after the context of [Run]
	// has ended. It may be nil.
	ForceStop <-chan struct{}
	// RunLog returns the log of a run. nil disables it.
	RunLog func(*runtime.Invocation) native.Logger
	// Incident is called with Go panics and errors below a script. nil disables
	// it.
	Incident func(error)
	// Progress is called after each result that was written. nil disables it.
	Progress func(Summary)
}

// Summary counts the lines of a batch.
type Summary struct {
	// OK and Failed are how many lines have their result written; those that were
	// not started are among the failed.
	OK, Failed int
	// Bytes is how long those lines are together.
	Bytes int64
}

func (c Config) withDefaults() (Config, error) {
	if c.Engine == nil {
		return c, errors.New("a batch needs an engine")
	}
	if c.Concurrency < 0 {
		return c, fmt.Errorf("concurrency %d: want 1 or more", c.Concurrency)
	}
	c.Concurrency = cmp.Or(c.Concurrency, 16)
	stop, err := runner.StopTimes{Timeout: c.StopTimeout, Reserve: c.StopReserve}.WithDefaults()
	c.StopTimeout, c.StopReserve = stop.Timeout, stop.Reserve
	if c.RunLog == nil {
		c.RunLog = runner.NoLog
	}
	if c.Incident == nil {
		c.Incident = func(error) {}
	}
	return c, err
}

// Run runs the invocations that it reads from in, and writes their results to
// out. When ctx ends it reads no more: what runs may finish until StopReserve is
// left of StopTimeout, and what was read but not started gets a result with
// not_started. The error is that of in or out, whose failure ends the batch.
//
// A read from in that is blocked when ctx ends is left behind.
func Run(ctx context.Context, c Config, in io.Reader, out io.Writer) (Summary, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	b := &batch{
		Config: c, reading: ctx,
		toRun: make(chan *entry), toWrite: make(chan *entry, 4*c.Concurrency),
		givenUp: make(chan struct{}), written: make(chan struct{}),
	}
	b.runs, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer b.cancel(nil)
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		b.stop(over)
	}()
	go b.read(in)
	var workers sync.WaitGroup
	for range c.Concurrency {
		workers.Go(b.work)
	}
	err = b.write(out)
	close(b.written)
	b.cancel(err) // nothing runs any more, or its result can't be written
	workers.Wait()
	close(over)
	<-stopped
	return b.sum, errors.Join(err, b.readError)
}

// batch is a batch while it runs.
type batch struct {
	Config
	reading context.Context // ends when no more lines are to be read
	runs    context.Context // ends when what runs is to be cancelled
	cancel  context.CancelCauseFunc
	// givenUp is closed when no run is waited for any more, written when
	// nothing more is written.
	givenUp, written chan struct{}

	toRun     chan *entry // closed after the last
	toWrite   chan *entry // in the order of their lines; closed after the last
	readError error       // of in; written before toWrite is closed
	sum       Summary
}

// stop cancels what runs when only the reserve is left to stop, and gives up
// what doesn't come back then. It returns when the batch is over.
func (b *batch) stop(over chan struct{}) {
	defer close(b.givenUp)
	select {
	case <-b.reading.Done():
	case <-b.runs.Done():
	case <-over:
		return
	}
	cancelAt := time.NewTimer(b.StopTimeout - b.StopReserve)
	defer cancelAt.Stop()
	select {
	case <-cancelAt.C:
	case <-b.ForceStop:
	case <-b.runs.Done():
	case <-over:
		return
	}
	b.cancel(runtime.Shutdown{})
	giveUpAt := time.NewTimer(runner.StopTimes{Timeout: b.StopTimeout, Reserve: b.StopReserve}.GiveUp())
	defer giveUpAt.Stop()
	select {
	case <-giveUpAt.C:
	case <-over:
	}
}
