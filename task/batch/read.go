package batch

import (
	"fmt"
	"io"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task/runner"
)

// read reads lines until there are no more, or none are wanted.
func (b *batch) read(in io.Reader) {
	lines, enough := make(chan *entry), make(chan struct{})
	defer close(enough)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- scan(in, func(e *entry) bool {
			select {
			case lines <- e:
				return true
			case <-enough:
				return false
			}
		})
	}()
	defer close(b.toWrite)
	defer close(b.toRun)
	for {
		select {
		case e, more := <-lines:
			if !more {
				b.readError = <-failed
				return
			}
			if b.pass(e) {
				continue
			}
		case <-b.reading.Done():
		case <-b.runs.Done():
		}
		break
	}
	select {
	case e, more := <-lines: // it has already been read
		if more {
			b.pass(e)
		}
	default:
	}
}

// pass hands a line on, first to be written and then to be run.
func (b *batch) pass(e *entry) bool {
	select {
	case b.toWrite <- e:
	case <-b.written:
		return false
	}
	select {
	case b.toRun <- e:
		return true
	case <-b.reading.Done():
		e.done <- b.notStarted(e)
		return false
	case <-b.runs.Done():
		e.done <- b.notStarted(e)
		return false
	}
}

// work runs one line after the other.
func (b *batch) work() {
	for e := range b.toRun {
		if b.reading.Err() != nil {
			e.done <- b.notStarted(e)
			continue
		}
		e.done <- b.run(e)
	}
}

// run runs a line and returns its result.
func (b *batch) run(e *entry) []byte {
	req, failed := e.parse()
	if failed != nil {
		return e.result(req, &runtime.Result{Error: failed, StartedAt: time.Now()}, false)
	}
	inv, failed := b.Tenants.Resolve(req.Tenant, req.Script, req.Event)
	if failed != nil {
		if failed.Cause != nil {
			b.Incident(failed.Cause)
		}
		return e.result(req, &runtime.Result{Error: failed, StartedAt: time.Now()}, false)
	}
	inv.ID = runtime.NewID(time.Now())
	inv.Log = b.RunLog(inv)
	returned := make(chan *runtime.Result, 1)
	go func() {
		returned <- runner.Run(b.runs, b.Engine, *inv, func(p any) { b.Incident(fmt.Errorf("a run panicked: %v", p)) })
	}()
	select {
	case r := <-returned:
		for _, incident := range r.Incidents {
			b.Incident(incident)
		}
		return e.result(req, r, false)
	case <-b.givenUp:
		return e.result(req, &runtime.Result{ID: inv.ID, Error: runner.Shutdown(), StartedAt: time.Now()}, false)
	}
}

func (b *batch) notStarted(e *entry) []byte {
	req, _ := e.parse()
	return e.result(req, &runtime.Result{Error: runner.Shutdown(), StartedAt: time.Now()}, true)
}
