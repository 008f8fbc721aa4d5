package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/native/value"
)

// job tells a worker to run the script once for each of the events, all at the
// same time.
type job struct {
	Script string
	Events []map[string]any
}

// jobResult is the result of a job.
type jobResult struct {
	Error    string
	Results  []json.RawMessage // of the script, one for each event
	Requests int64             // to the table
}

// serveWorker runs the jobs that it reads from standard input until that ends,
// as it does when the parent process ends.
func serveWorker(ctx context.Context, endpoint string) error {
	p, err := newProcess(ctx, endpoint)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var t job
		if err := in.Decode(&t); errors.Is(err, io.EOF) {
			return p.store.Close()
		} else if err != nil {
			return err
		}
		if err := out.Encode(p.runJob(ctx, t)); err != nil {
			return err
		}
	}
}

func (p *process) runJob(ctx context.Context, t job) jobResult {
	before := p.table.requests.Load()
	o := jobResult{Results: make([]json.RawMessage, len(t.Events))}
	failed := make([]error, len(t.Events))
	var runs sync.WaitGroup
	for i, event := range t.Events {
		runs.Go(func() { o.Results[i], failed[i] = p.run(ctx, t.Script, value.Map(event)) })
	}
	runs.Wait()
	o.Requests = p.table.requests.Load() - before
	if err := errors.Join(failed...); err != nil {
		return jobResult{Error: err.Error()}
	}
	return o
}

// countingTable counts requests. Each call is one request, as the group db-lock
// shows, which counts them in a proxy.
type countingTable struct {
	lock.Table
	requests atomic.Int64
}

func (c *countingTable) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	c.requests.Add(1)
	return c.Table.PutLock(ctx, row, now)
}

func (c *countingTable) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	c.requests.Add(1)
	return c.Table.DeleteLock(ctx, key, owner)
}

// worker is another process, which runs jobs one after the other.
type worker struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	jobs    *json.Encoder
	results *json.Decoder
	errors  strings.Builder
}

// startWorkers starts workers and lets each make a first request, so that they
// know the table's time.
func (b *bench) startWorkers(count int) (all []*worker, end func(), err error) {
	endpoint, err := b.emulator()
	if err != nil {
		return nil, nil, err
	}
	end = func() {
		for _, w := range all {
			w.stdin.Close()
			_ = w.cmd.Wait() // failures are reported in results
		}
	}
	for i := range count {
		w, err := b.startWorker(endpoint)
		if err == nil {
			all = append(all, w)
			err = w.start(job{holdScript, []map[string]any{{"lock": fmt.Sprint("first of ", i), "ms": 0.0}}})
		}
		if err != nil {
			end()
			return nil, nil, err
		}
	}
	for _, w := range all {
		if _, err := w.wait(); err != nil {
			end()
			return nil, nil, err
		}
	}
	return all, end, nil
}

func (b *bench) startWorker(endpoint string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.CommandContext(b, self, "-worker", endpoint)}
	w.cmd.Stderr = &w.errors
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdin, w.jobs, w.results = in, json.NewEncoder(in), json.NewDecoder(out)
	return w, w.cmd.Start()
}

// start sends a job to the worker, and wait waits for its result.
func (w *worker) start(t job) error { return w.jobs.Encode(t) }

func (w *worker) wait() (o jobResult, err error) {
	if err := w.results.Decode(&o); err != nil {
		return o, fmt.Errorf("a worker has ended: %w: %s", err, w.errors.String())
	}
	if o.Error != "" {
		return o, errors.New(o.Error)
	}
	return o, nil
}
