package vm

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Failure is an error that left a script.
type Failure struct {
	// Value is the error value.
	Value lua.LValue
	// Traces are gopher-lua's tracebacks of the threads that the error passed,
	// the innermost first.
	Traces []string
}

func (f *Failure) Error() string { return f.Value.String() }

// trace is where an error came from that is on its way out.
type trace struct {
	value lua.LValue
	texts []string
}

// keep adds the stack of the thread that err has unwound, because err is about to
// be raised again on the thread below.
func (t *trace) keep(err *lua.ApiError) {
	if t.value != err.Object {
		*t = trace{value: err.Object}
	}
	t.texts = append(t.texts, err.StackTrace)
}

// DropTrace forgets the trace, because the script has caught the error.
// Another one that is raised later may have the same value.
func (r *Run) DropTrace() { r.trace = trace{} }

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
