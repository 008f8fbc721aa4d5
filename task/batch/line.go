package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/task/runner"
)

// lineMax is the longest line, in bytes: an event and its envelope.
const lineMax = runtime.EventBytesMax + 64<<10

// entry is a line of the input that is in flight.
type entry struct {
	number  int
	bytes   int64
	text    []byte
	invalid *runtime.Error // why it can't be run
	done    chan []byte    // gets its line of the output
	ok      bool           // whether it has succeeded; written before done
}

// request is a line of the input.
type request struct {
	ID     json.RawMessage `json:"id"`
	Tenant string          `json:"tenant"`
	Script string          `json:"script"`
	Event  json.RawMessage `json:"event"`
}

// scan calls line for each line that isn't empty, until it returns false.
func scan(in io.Reader, line func(*entry) bool) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		e := &entry{number: number, done: make(chan []byte, 1)}
		err := e.readFrom(lines)
		if (e.invalid != nil || len(bytes.TrimSpace(e.text)) > 0) && !line(e) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// readFrom reads one line. The text of one that is too long is skipped.
func (e *entry) readFrom(lines *bufio.Reader) error {
	for {
		part, err := lines.ReadSlice('\n')
		e.bytes += int64(len(part))
		if e.bytes > lineMax {
			e.text, e.invalid = nil, runtime.Errorf(runtime.EventTooLarge, "the line has more than %d bytes", lineMax)
		} else {
			e.text = append(e.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// parse reads the request of the line.
func (e *entry) parse() (r request, failed *runtime.Error) {
	if e.invalid != nil {
		return r, e.invalid
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

// result is the line of the output for the entry.
func (e *entry) result(req request, r *runtime.Result, notStarted bool) []byte {
	e.ok = r.Error == nil
	return runner.JSONLine(struct {
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
	}{req.ID, e.number, e.ok, r.JSON, r.Error, notStarted, r.ID, r.StartedAt.UTC(), runlog.Millis(r.Duration), r.Counters})
}
