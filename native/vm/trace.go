package vm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Failure is an error that left a script.
type Failure struct {
	// Value is the error value.
	Value lua.LValue
	// Stack is where it was raised: the Lua functions that were open on the
	// threads that it passed, the innermost first.
	Stack []Frame
}

func (f *Failure) Error() string { return f.Value.String() }

// Frame is a Lua function on a stack.
type Frame struct {
	// File and Line are where it was; "" and 0 for calls that are left out.
	File string
	Line int
	// Function is its name, by which it was called or else defined. A function
	// without one has the place of its definition: "function at job.lua:12". Calls that are
	// left out have their number: "... (980 more)".
	Function string
}

// traceEnds is how many calls at each end of a deep stack are kept. What lies
// between is a recursion, nearly always.
const traceEnds = 10

// openCall is a call on a stack, in a form that is cheap to note: most errors are
// caught, and their stacks are never read.
type openCall struct {
	known    *Frame             // of a stack that is known as text only, else nil
	proto    *lua.FunctionProto // nil if calls are left out here
	pc       int                // of its current instruction, or how many are left out
	caller   *lua.FunctionProto // nil if the caller is no Lua function
	callerPC int
}

// appendCalls appends the Lua functions that are open on L, the innermost first.
func appendCalls(calls []openCall, L *lua.LState) []openCall {
	first := len(calls)
	var outermost [traceEnds]openCall // a ring
	n := 0
	for f := currentFrame(L); f != nil; f = f.Parent {
		if !f.isLua() {
			continue
		}
		call := openCall{proto: f.Fn.Proto, pc: f.Pc - 1}
		if f.TailCall == 0 && f.Parent.isLua() {
			call.caller, call.callerPC = f.Parent.Fn.Proto, f.Parent.Pc-1
		}
		if len(calls)-first < traceEnds {
			calls = append(calls, call)
		} else {
			outermost[n%traceEnds] = call
			n++
		}
	}
	if n > traceEnds {
		calls = append(calls, openCall{pc: n - traceEnds})
	}
	for i := max(n-traceEnds, 0); i < n; i++ {
		calls = append(calls, outermost[i%traceEnds])
	}
	return calls
}

// trace is where an error came from that is on its way out.
type trace struct {
	raised *lua.ApiError // the last error that was raised on a Lua thread
	at     []openCall    // where that was

	value lua.LValue // the error that is being raised
	calls []openCall // on the threads that it has passed
}

// raise notes where an error is raised, which is about to unwind L.
func (t *trace) raise(L *lua.LState, err *lua.ApiError) {
	t.raised, t.at = err, appendCalls(t.at[:0], L)
}

// keep adds the stack of the thread that err has unwound, because err is about to
// be raised again on the thread below.
func (t *trace) keep(err *lua.ApiError) {
	if t.value != err.Object {
		t.value, t.calls = err.Object, nil
	}
	if t.raised == err {
		t.calls = append(t.calls, t.at...)
		return
	}
	for _, f := range parseTraceback(err.StackTrace) {
		t.calls = append(t.calls, openCall{known: &f})
	}
}

// DropTrace forgets the trace, because the script has caught the error.
// Another one that is raised later may have the same value.
func (r *Run) DropTrace() {
	t := &r.trace
	t.raised, t.value, t.calls = nil, nil, nil
}

// Reraise raises the error of a coroutine in the one that has resumed it, with
// the caller's position in front if it is a string. Its trace is kept.
func (r *Run) Reraise(L *lua.LState, err lua.LValue) {
	if text, ok := err.(lua.LString); ok {
		err = lua.LString(Position(L, 1)) + text
	}
	r.trace.value = err
	L.Error(err, 0)
}

// Raise raises an error with the position of the caller of a Go function, if
// that is a Lua function.
func Raise(L *lua.LState, format string, args ...any) {
	L.Error(lua.LString(Position(L, 1)+fmt.Sprintf(format, args...)), 0)
}

// Position returns the place of a level of the stack, in the form that begins
// an error message; it is empty if no Lua function runs there.
func Position(L *lua.LState, level int) string {
	if level < 1 {
		return ""
	}
	if where := L.Where(level); where != "" && !strings.HasPrefix(where, "[G]") {
		return where + " "
	}
	return ""
}

// NewChunk makes a Lua function of a compiled source. The run finds the names of
// functions in it when an error shows them.
func (r *Run) NewChunk(proto *lua.FunctionProto) *lua.LFunction {
	r.chunks = append(r.chunks, proto)
	return r.Thread().NewFunctionFromProto(proto)
}

// frames returns calls as they are shown.
func (r *Run) frames(calls []openCall) []Frame {
	frames := make([]Frame, len(calls))
	for i, c := range calls {
		if c.known != nil {
			frames[i] = *c.known
			continue
		}
		if c.proto == nil {
			frames[i] = Frame{Function: fmt.Sprintf("... (%d more)", c.pc)}
			continue
		}
		frames[i] = Frame{File: c.proto.SourceName, Line: lineOf(c.proto, c.pc), Function: r.functionName(c)}
	}
	return frames
}

// tracebackLine is a Lua function in gopher-lua's traceback.
var tracebackLine = regexp.MustCompile(`^\t(.*?):(\d+): in (?:function (.*)|main chunk|corountine)$`)

// parseTraceback reads the traceback that gopher-lua writes of an error that no
// thread's Panic has seen: that of a stack that is full.
func parseTraceback(text string) (frames []Frame) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "\t..." {
			frames = append(frames, Frame{Function: "..."})
		}
		m := tracebackLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := Frame{File: m[1], Function: strings.Trim(m[3], "'")}
		f.Line, _ = strconv.Atoi(m[2])
		switch place, unnamed := strings.CutPrefix(f.Function, "<"); {
		case f.Function == "", strings.HasSuffix(f.Function, ":0>"):
			f.Function = "main chunk"
		case unnamed:
			f.Function = "function at " + strings.TrimSuffix(place, ">")
		}
		frames = append(frames, f)
	}
	return frames
}

func lineOf(p *lua.FunctionProto, pc int) int {
	if pc < len(p.DbgSourcePositions) {
		return p.DbgSourcePositions[pc]
	}
	return 0
}

// functionName returns the name of an open function.
func (r *Run) functionName(c openCall) string {
	if c.proto.LineDefined == 0 {
		return "main chunk"
	}
	if c.caller != nil {
		for _, call := range c.caller.DbgCalls {
			if call.Pc == c.callerPC && isShown(call.Name) && call.Name != "?" {
				return call.Name
			}
		}
	}
	for _, chunk := range r.chunks {
		if chunk.SourceName != c.proto.SourceName {
			continue
		}
		if name := definedName(chunk, c.proto); name != "" {
			return name
		}
	}
	return fmt.Sprintf("function at %s:%d", c.proto.SourceName, c.proto.LineDefined)
}
