package vm

import (
	lua "github.com/yuin/gopher-lua"
)

// gopher-lua writes the traceback of an error when it catches it, in time that
// grows with the square of the calls that are open, and with a line for each
// tail call that there has been. A thousand deep coroutines took seconds to
// unwind at the end of a run; an error after some seconds of tail calls took as
// long again, and gigabytes. So the calls that are open are noted when an error
// is raised, and become text only when it leaves the run.

// noTrace is the traceback of an error, which is never shown. It isn't empty,
// because gopher-lua would write one then.
const noTrace = "stack traceback:"

// raised is a thread's Panic: gopher-lua calls it with the error on top of the
// stack, while the calls that led to it are still open. It is set before a thread
// executes its first instruction.
func raised(L *lua.LState) {
	r := Of(L)
	err := &lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1), StackTrace: noTrace}
	if r.interrupt != nil {
		r.interrupt.passes(L)
		panic(err)
	}
	if text, ok := err.Object.(lua.LString); ok {
		err.Object = lua.LString(explain(L, string(text)))
	}
	r.trace.raise(L, err)
	panic(err)
}
