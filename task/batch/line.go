package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/spelling"
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
	ID     json.RawMessage
	Tenant string
	Script string
	Event  json.RawMessage
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
	err := r.read(e.text)
	if err != nil {
		return r, runtime.Errorf(runtime.EventInvalid, "line %d: %v", e.number, err)
	}
	return r, nil
}

// fieldNames are the fields of a line.
var fieldNames = []string{"id", "tenant", "script", "event"}

// read reads a request, as far as its text is one: the id of a bad line is known
// if it comes before what is wrong.
func (r *request) read(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil {
		return noJSON(d, err)
	} else if start != json.Delim('{') {
		return errNoObject
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return noJSON(d, err)
		}
		name := token.(string) // the decoder takes nothing else for a name
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return noJSON(d, err)
		}
		if _, twice := fields[name]; twice {
			return fmt.Errorf("the field %q comes twice", name)
		}
		fields[name] = value
		if name == "id" {
			r.ID = value
		}
	}
	if _, err := d.Token(); err != nil {
		return noJSON(d, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNoObject
	}
	return r.set(fields)
}

// set sets the request from the fields of a line.
func (r *request) set(fields map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[name]; name {
		case "id":
		case "event":
			r.Event = value
		case "tenant", "script":
			var text string
			if value[0] != '"' || json.Unmarshal(value, &text) != nil {
				return fmt.Errorf("%s: want a text in quotes", name)
			}
			if name == "tenant" {
				r.Tenant = text
			} else {
				r.Script = text
			}
		default:
			if near := spelling.Nearest(name, fieldNames); near != "" {
				return fmt.Errorf("unknown field %.80q, did you mean %q?", name, near)
			}
			return fmt.Errorf("unknown field %.80q, known are %s", name, strings.Join(fieldNames, ", "))
		}
	}
	for _, name := range []string{"tenant", "script"} {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("the field %q is missing", name)
		}
	}
	return nil
}

var errNoObject = errors.New(`want one JSON object a line, such as {"id": 1, "tenant": "acme", "script": "import", "event": {}}`)

// noJSON says where a text stops being JSON.
func noJSON(d *json.Decoder, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && !strings.Contains(syntax.Error(), "unexpected end") {
		return fmt.Errorf("no valid JSON from byte %d on", max(syntax.Offset, d.InputOffset()))
	}
	return errors.New("the JSON is cut off")
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
