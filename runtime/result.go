package runtime

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native"
	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/vm"
)

// Result is the result of a run. Exactly one of JSON and Error is set.
type Result struct {
	// ID is the invocation's.
	ID string
	// JSON is what the script returned, as one line; "null" for nothing. If
	// [Invocation.Encode] is set, it is what that returned.
	JSON []byte
	// Error is why there is no value.
	Error *Error
	// StartedAt is by the wall clock.
	StartedAt time.Time
	Duration  time.Duration
	Counters  Counters
	// Incidents are Go panics and errors below the script, for the host's log.
	Incidents []error
}

// Counters counts what a run used.
type Counters struct {
	// Instructions are those of Lua, library steps included.
	Instructions int64 `json:"instructions"`
	// DataOps are requests to native.db's table.
	DataOps int64 `json:"data_ops"`
}

// encode sets the result to a value as JSON, or to the error why it has none.
func (r *Result) encode(value any, bytesMax int64) {
	text, err := json.Encode(value, "result", int(bytesMax))
	_, tooLong := errors.AsType[*json.TooLongError](err)
	switch {
	case tooLong:
		r.Error = Errorf(ResultTooLarge, "the result has more bytes than the %d that are allowed", bytesMax)
	case err != nil:
		r.Error = Errorf(NotSerializable, "%s", err.Error())
	default:
		r.JSON = text
	}
}

// messageMax is the largest size of an error's text in bytes.
const messageMax = 8 << 10

// scriptError returns the error that a script raised.
func scriptError(f *vm.Failure) *Error {
	e := valueError(f.Value)
	if len(e.Message) > messageMax {
		e.Message = strings.ToValidUTF8(e.Message[:messageMax], "") + "..."
	}
	e.Message = strings.ToValidUTF8(e.Message, "\uFFFD")
	e.Stack = stack(f.Stack)
	e.locate()
	return e
}

// stack returns the frames of a stack as hosts report them.
func stack(frames []vm.Frame) []Frame {
	out := make([]Frame, len(frames))
	for i, f := range frames {
		out[i] = Frame(f)
	}
	return out
}

// valueError returns the error of a value that was raised. It calls neither
// metamethods nor anything else of the script, which is over.
func valueError(v lua.LValue) *Error {
	if known := native.ErrorOf(v); known != nil {
		e := Errorf(Raised, "%s", known.Error())
		e.Code, e.Retryable = known.Code, known.Retryable
		return e
	}
	switch v := v.(type) {
	case lua.LString:
		return Errorf(RuntimeError, "%s", string(v))
	case *lua.LTable:
		return tableError(v)
	case lua.LNumber, lua.LBool, *lua.LNilType:
		return Errorf(Raised, "%s", v.String())
	}
	return Errorf(Raised, "a %s", v.Type())
}

// tableError returns the error of a table that isn't one of native's form.
func tableError(t *lua.LTable) *Error {
	text := func(field string) string {
		if v := t.RawGetString(field); lua.LVCanConvToString(v) {
			return v.String()
		}
		return ""
	}
	code, message := text("code"), text("message")
	e := Errorf(Raised, "%s", strings.TrimPrefix(code+": "+message, ": "))
	switch {
	case code == "" && message == "":
		return Errorf(Raised, "a table without a code or message: raise a string, or { code = ..., message = ... }")
	case message == "":
		e.Message = code
	}
	e.Code, e.Retryable = code, t.RawGetString("retryable") == lua.LTrue
	return e
}

var position = regexp.MustCompile(`^([^:\n]+):(\d+): `)

// locate sets where the error happened: as its message says, else where its
// innermost Lua frame is.
func (e *Error) locate() {
	if m := position.FindStringSubmatch(e.Message); m != nil {
		if line, err := strconv.Atoi(m[2]); err == nil {
			e.File, e.Line = m[1], line
			return
		}
	}
	for _, f := range e.Stack {
		if f.Line > 0 {
			e.File, e.Line = f.File, f.Line
			return
		}
	}
}
