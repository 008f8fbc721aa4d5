package vm

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// internalError is what a script sees of a Go panic.
const internalError = "internal error"

// incidentsMax bounds the errors that a run keeps for the host's log.
const incidentsMax = 10

// incidents are errors for the host's log that no script may see.
type incidents []error

func (i *incidents) record(err error) {
	if len(*i) < incidentsMax {
		*i = append(*i, err)
	}
}

// RecordIncident keeps an error for the host's log that no script may see.
func (r *Run) RecordIncident(err error) { r.incidents.record(err) }

// Incidents returns what was kept for the host's log: Go panics that were turned
// into errors of the script, and errors of modules. Scripts never see their text.
func (r *Run) Incidents() []error { return r.incidents }

// callDepth is what gopher-lua panics with, instead of raising an error, when
// a thread has too many calls open.
const callDepth = "lua callstack overflow"

// noPosition is how gopher-lua's PCall fails for a frame that hasn't run an
// instruction: that of a tail call whose arguments have filled the registry.
const noPosition = "index out of range [-1]"

// fromPCall is the error of a PCall that panicked itself, as it does when the
// registry is full.
func (i *incidents) fromPCall(p any) *lua.ApiError {
	if err, ok := p.(*lua.ApiError); ok {
		return err
	}
	if err, ok := p.(error); ok && strings.Contains(err.Error(), noPosition) {
		return i.panicked(callDepth)
	}
	return i.panicked(p)
}

// fromThread is the error of a Go panic that a thread's protected call has caught.
func (i *incidents) fromThread(caught *lua.ApiError) *lua.ApiError {
	err := i.panicked(caught.Object.String())
	err.StackTrace = caught.StackTrace
	if stack := parseTraceback(caught.StackTrace); err.Object == stackOverflow && len(stack) > 0 {
		err.Object = lua.LString(fmt.Sprintf("%s:%d: ", stack[0].File, stack[0].Line)) + stackOverflow
	}
	return err
}

// stackOverflow is the error of a thread on which too many calls are open.
const stackOverflow = lua.LString("stack overflow")

// panicked records a Go panic and returns the error that the script sees.
func (i *incidents) panicked(p any) *lua.ApiError {
	if p == callDepth {
		return &lua.ApiError{Type: lua.ApiErrorRun, Object: stackOverflow}
	}
	i.record(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(internalError)}
}

// heapAddress is how gopher-lua prints a table, function or thread that was
// used as a key of something that has no fields.
var heapAddress = regexp.MustCompile(`with key '(table|function|userdata|thread): 0x[0-9a-f]{9,}'`)

// withoutAddress takes the address of a value out of gopher-lua's own errors.
func withoutAddress(v lua.LValue) lua.LValue {
	if s, ok := v.(lua.LString); ok && strings.Contains(string(s), ": 0x") {
		return lua.LString(heapAddress.ReplaceAllString(string(s), "with a $1 as key"))
	}
	return v
}
