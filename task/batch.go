package task

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/runtime"
)

// Batch runs the invocations of a file, one a line:
//
//	{"id": ANY, "tenant": ID, "script": NAME, "event": JSON}
//
// and writes a line for each as it finishes: its id and the number of its
// line, what [runtime.Result] hands out, and the run's id as run_id. A line that
// can't be run has an error as its result, and the others go on.
type Batch struct {
	// Engine runs the scripts. Required.
	Engine Runner
	// Tenants are those that it runs for.
	Tenants runtime.Directory
	// Concurrency is how many scripts run at once. Default 16.
	Concurrency int
	// Ordered writes results in the order of their lines. What is finished
	// waits for what isn't. Up to four times Concurrency are held back by that,
	// or by a slow reader of the results.
	Ordered bool
	// StopTimeout and StopReserve are those of [Config].
	StopTimeout, StopReserve time.Duration
	// RunLog is where a run logs to. Default: nowhere.
	RunLog func(*runtime.Invocation) native.Logger
	// Incident is told of Go panics and errors below a script. Default: nobody.
	Incident func(error)
	// Progress is told of each result that was written. Default: nobody.
	Progress func(Summary)
}

// Summary counts the lines of a batch.
type Summary struct {
	// OK and Failed lines have their result written; those that were not started
	// are among the failed.
	OK, Failed int
	// Bytes of those lines.
	Bytes int64
}

// lineMax is the longest line, in bytes: an event and its envelope.
const lineMax = runtime.EventBytesMax + 64<<10

// entry is a line on its way.
type entry struct {
	number int
	bytes  int64
	text   []byte
	wrong  *runtime.Error // why it can't be run
	done   chan []byte    // gets its answer
	ok     bool           // written before
}

// request is what a line says.
type request struct {
	ID     json.RawMessage `json:"id"`
	Tenant string          `json:"tenant"`
	Script string          `json:"script"`
	Event  json.RawMessage `json:"event"`
}

// Run runs what it reads from in, and writes to out. When ctx ends it reads no
// more; what runs goes on as [Host.Serve] says, and what was read but not
// started is answered with not_started. hurry, if it isn't nil, is closed to
// cancel at once. The error is that of in or out, whose failure ends the batch.
//
// A read from in that is blocked when ctx ends is left behind.
func (b Batch) Run(ctx context.Context, hurry <-chan struct{}, in io.Reader, out io.Writer) (Summary, error) {
	c, err := Config{Engine: b.Engine, StopTimeout: b.StopTimeout, StopReserve: b.StopReserve, RunLog: b.RunLog}.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	if b.Concurrency < 0 {
		return Summary{}, fmt.Errorf("concurrency %d: want 1 or more", b.Concurrency)
	}
	setDefault(&b.Concurrency, 16)
	b.StopTimeout, b.StopReserve, b.RunLog = c.StopTimeout, c.StopReserve, c.RunLog

	r := &batchRun{Batch: b, intake: ctx, entries: make(chan *entry), flow: make(chan *entry, 4*b.Concurrency), givenUp: make(chan struct{}), written: make(chan struct{})}
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	r.runs, r.cancel = runs, cancel
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.limit(hurry, over)
	}()
	go r.read(in)
	var workers sync.WaitGroup
	for range b.Concurrency {
		workers.Go(r.work)
	}
	err = r.write(out)
	close(r.written)
	cancel(err) // nothing runs any more, or nobody wants to know
	workers.Wait()
	close(over)
	<-stopped
	return r.sum, errors.Join(err, r.broken)
}

// batchRun is a batch while it runs.
type batchRun struct {
	Batch
	intake context.Context // ends when no more lines are to be read
	runs   context.Context // ends when what runs is to be cancelled
	cancel context.CancelCauseFunc
	// givenUp is closed when nobody waits for a run any more, written when
	// nothing more is written.
	givenUp, written chan struct{}

	entries chan *entry // to be run; closed after the last
	flow    chan *entry // to be written, in the order of their lines; closed after the last
	broken  error       // of in; written before flow is closed
	sum     Summary
}

// limit cancels what runs when only the reserve is left to stop, and gives up
// what doesn't come back then.
func (r *batchRun) limit(hurry <-chan struct{}, over chan struct{}) {
	defer close(r.givenUp)
	select {
	case <-r.intake.Done():
	case <-r.runs.Done():
	case <-over:
		return
	}
	cancelAt := time.NewTimer(r.StopTimeout - r.StopReserve)
	defer cancelAt.Stop()
	select {
	case <-cancelAt.C:
	case <-hurry:
	case <-r.runs.Done():
	case <-over:
		return
	}
	r.cancel(runtime.Shutdown{})
	giveUpAt := time.NewTimer(r.StopReserve - r.StopReserve/5)
	defer giveUpAt.Stop()
	select {
	case <-giveUpAt.C:
	case <-over:
	}
}

// read reads lines until there are no more, or none are wanted.
func (r *batchRun) read(in io.Reader) {
	lines, enough := make(chan *entry), make(chan struct{})
	defer close(enough)
	broken := make(chan error, 1)
	go func() {
		defer close(lines)
		broken <- scan(in, func(e *entry) bool {
			select {
			case lines <- e:
				return true
			case <-enough:
				return false
			}
		})
	}()
	defer close(r.flow)
	defer close(r.entries)
	for {
		select {
		case e, more := <-lines:
			if !more {
				r.broken = <-broken
				return
			}
			if r.pass(e) {
				continue
			}
		case <-r.intake.Done():
		case <-r.runs.Done():
		}
		break
	}
	select {
	case e, more := <-lines: // was read already
		if more {
			r.pass(e)
		}
	default:
	}
}

// pass hands a line on, first to be written and then to be run.
func (r *batchRun) pass(e *entry) bool {
	select {
	case r.flow <- e:
	case <-r.written:
		return false
	}
	select {
	case r.entries <- e:
		return true
	case <-r.intake.Done():
		e.done <- r.notStarted(e)
		return false
	case <-r.runs.Done():
		e.done <- r.notStarted(e)
		return false
	}
}

// scan calls line for each line that isn't empty, until it returns false.
func scan(in io.Reader, line func(*entry) bool) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		e := &entry{number: number, done: make(chan []byte, 1)}
		err := e.readFrom(lines)
		if e.wrong == nil && len(bytes.TrimSpace(e.text)) > 0 || e.wrong != nil {
			if !line(e) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// readFrom reads one line. One that is too long is passed over.
func (e *entry) readFrom(lines *bufio.Reader) error {
	for {
		part, err := lines.ReadSlice('\n')
		e.bytes += int64(len(part))
		if e.bytes > lineMax {
			e.text, e.wrong = nil, runtime.Errorf(runtime.EventTooLarge, "the line has more than %d bytes", lineMax)
		} else {
			e.text = append(e.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// work runs one line after the other.
func (r *batchRun) work() {
	for e := range r.entries {
		if r.intake.Err() != nil {
			e.done <- r.notStarted(e)
			continue
		}
		e.done <- r.run(e)
	}
}

// run runs a line and returns its answer.
func (r *batchRun) run(e *entry) []byte {
	req, wrong := e.parse()
	if wrong != nil {
		return e.answer(req, &runtime.Result{Error: wrong, StartedAt: time.Now()}, false)
	}
	inv, wrong := r.Tenants.Resolve(req.Tenant, req.Script, req.Event)
	if wrong != nil {
		return e.answer(req, &runtime.Result{Error: wrong, StartedAt: time.Now()}, false)
	}
	inv.ID = runtime.NewID(time.Now())
	inv.Log = r.RunLog(inv)
	back := make(chan *runtime.Result, 1)
	go func() {
		back <- safely(r.runs, r.Engine, *inv, func(p any) { r.incident(fmt.Errorf("a run panicked: %v", p)) })
	}()
	select {
	case result := <-back:
		for _, incident := range result.Incidents {
			r.incident(incident)
		}
		return e.answer(req, result, false)
	case <-r.givenUp:
		return e.answer(req, &runtime.Result{ID: inv.ID, Error: shutdown(), StartedAt: time.Now()}, false)
	}
}

func (r *batchRun) incident(err error) {
	if r.Incident != nil {
		r.Incident(err)
	}
}

// parse reads what the line says.
func (e *entry) parse() (r request, wrong *runtime.Error) {
	if e.wrong != nil {
		return r, e.wrong
	}
	if !utf8.Valid(e.text) {
		return r, runtime.Errorf(runtime.EventInvalid, "line %d is not UTF-8", e.number)
	}
	d := json.NewDecoder(bytes.NewReader(e.text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return request{}, runtime.Errorf(runtime.EventInvalid, "line %d: %v", e.number, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, runtime.Errorf(runtime.EventInvalid, "line %d: want one JSON object a line", e.number)
	}
	return r, nil
}

func (r *batchRun) notStarted(e *entry) []byte {
	req, _ := e.parse()
	return e.answer(req, &runtime.Result{Error: shutdown(), StartedAt: time.Now()}, true)
}

// answer is the line that is written for the entry.
func (e *entry) answer(req request, r *runtime.Result, notStarted bool) []byte {
	e.ok = r.Error == nil
	return line(struct {
		ID         json.RawMessage  `json:"id"`
		Line       int              `json:"line"`
		OK         bool             `json:"ok"`
		Value      json.RawMessage  `json:"value,omitempty"`
		Error      *runtime.Error   `json:"error,omitempty"`
		NotStarted bool             `json:"not_started,omitempty"`
		RunID      string           `json:"run_id,omitempty"`
		StartedAt  time.Time        `json:"started_at"`
		Duration   float64          `json:"duration_ms"`
		Counters   runtime.Counters `json:"counters"`
	}{req.ID, e.number, e.ok, r.JSON, r.Error, notStarted, r.ID, r.StartedAt.UTC(), millis(r.Duration), r.Counters})
}

// write writes answers, whole lines one after the other.
func (r *batchRun) write(out io.Writer) error {
	if r.Ordered {
		for e := range r.flow {
			if err := r.put(out, e, <-e.done); err != nil {
				return err
			}
		}
		return nil
	}
	type answered struct {
		entry *entry
		text  []byte
	}
	answers := make(chan answered)
	go func() {
		defer close(answers)
		var open sync.WaitGroup
		places := make(chan struct{}, 4*r.Concurrency)
		for e := range r.flow {
			places <- struct{}{}
			open.Go(func() {
				answers <- answered{e, <-e.done}
				<-places
			})
		}
		open.Wait()
	}()
	var failed error
	for a := range answers {
		if failed == nil {
			if failed = r.put(out, a.entry, a.text); failed != nil {
				r.cancel(failed)
			}
		}
	}
	return failed
}

func (r *batchRun) put(out io.Writer, e *entry, text []byte) error {
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("results can't be written: %w", err)
	}
	if e.ok {
		r.sum.OK++
	} else {
		r.sum.Failed++
	}
	r.sum.Bytes += e.bytes
	if r.Progress != nil {
		r.Progress(r.sum)
	}
	return nil
}
