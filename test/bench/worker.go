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

// task is what a process of a benchmark is told to do: run the script once for
// each of the events, all at once.
type task struct {
	Script string
	Events []map[string]any
}

// outcome is what has become of a task.
type outcome struct {
	Error    string
	Results  []json.RawMessage // of the script, one for each event
	Requests int64             // to the table
}

// serve makes this process a worker: it does what it is told on standard input
// until that ends, which it does when the process that has started it does.
func serve(ctx context.Context, endpoint string) error {
	p, err := newProcess(ctx, endpoint)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var t task
		if err := in.Decode(&t); errors.Is(err, io.EOF) {
			return p.store.Close()
		} else if err != nil {
			return err
		}
		if err := out.Encode(p.do(ctx, t)); err != nil {
			return err
		}
	}
}

func (p *process) do(ctx context.Context, t task) outcome {
	before := p.table.requests.Load()
	o := outcome{Results: make([]json.RawMessage, len(t.Events))}
	failed := make([]error, len(t.Events))
	var runs sync.WaitGroup
	for i, event := range t.Events {
		runs.Go(func() { o.Results[i], failed[i] = p.run(ctx, t.Script, value.Map(event)) })
	}
	runs.Wait()
	o.Requests = p.table.requests.Load() - before
	if err := errors.Join(failed...); err != nil {
		return outcome{Error: err.Error()}
	}
	return o
}

// countedTable counts requests: each call is one, as the group db-lock shows by
// counting them on their way.
type countedTable struct {
	lock.Table
	requests atomic.Int64
}

func (c *countedTable) PutLock(ctx context.Context, row lock.Row, now lock.UnixMilli) lock.RowResult {
	c.requests.Add(1)
	return c.Table.PutLock(ctx, row, now)
}

func (c *countedTable) DeleteLock(ctx context.Context, key lock.Key, owner string) lock.RowResult {
	c.requests.Add(1)
	return c.Table.DeleteLock(ctx, key, owner)
}

// worker is another process, which does tasks one after the other.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	tasks  *json.Encoder
	done   *json.Decoder
	errors strings.Builder
}

// startWorkers starts processes of this same program, which know the table's
// time already: their first request is made.
func (b *bench) startWorkers(count int) (all []*worker, end func(), err error) {
	endpoint, err := b.emulator()
	if err != nil {
		return nil, nil, err
	}
	end = func() {
		for _, w := range all {
			w.stdin.Close()
			_ = w.cmd.Wait() // what it has to say, it said in an outcome
		}
	}
	for i := range count {
		w, err := b.startWorker(endpoint)
		if err == nil {
			all = append(all, w)
			err = w.begin(task{holdScript, []map[string]any{{"lock": fmt.Sprint("first of ", i), "ms": 0.0}}})
		}
		if err != nil {
			end()
			return nil, nil, err
		}
	}
	for _, w := range all {
		if _, err := w.end(); err != nil {
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
	w.stdin, w.tasks, w.done = in, json.NewEncoder(in), json.NewDecoder(out)
	return w, w.cmd.Start()
}

// begin tells the worker what to do; end waits until that is done.
func (w *worker) begin(t task) error { return w.tasks.Encode(t) }

func (w *worker) end() (o outcome, err error) {
	if err := w.done.Decode(&o); err != nil {
		return o, fmt.Errorf("a worker has ended: %w: %s", err, w.errors.String())
	}
	if o.Error != "" {
		return o, errors.New(o.Error)
	}
	return o, nil
}
