package vm

import (
	"time"

	lua "github.com/yuin/gopher-lua"
)

// PCall is Lua's pcall: it calls the function at index fn of L's stack with
// the n values above it. On success it pushes the results on L and returns
// their number and nil; else it returns the error value. An interrupt that
// belongs to a frame around it is passed on.
func (r *Run) PCall(L *lua.LState, fn, n int) (int, lua.LValue) {
	t, err := r.call(L, fn, n, nil)
	return r.deliver(L, t, err)
}

// XPCall is Lua's xpcall: like PCall, but handler is called with the error on
// the thread that failed, before it unwinds, and its first result takes the
// error's place. handler is at an index of L's stack.
func (r *Run) XPCall(L *lua.LState, fn, n int, handler lua.LValue) (int, lua.LValue) {
	t, err := r.call(L, fn, n, lastWords(r, handler))
	return r.deliver(L, t, err)
}

// deliver moves results from t to L.
func (r *Run) deliver(L, t *lua.LState, err *lua.ApiError) (int, lua.LValue) {
	if r.kill != nil {
		r.RaiseInterrupt()
	}
	if err != nil {
		r.DropTrace()
		return 0, err.Object
	}
	return r.moveResults(L, t), nil
}

// moveResults pushes all that lies on t's stack on L's and gives t back.
func (r *Run) moveResults(L, t *lua.LState) int {
	n := t.GetTop()
	for i := 1; i <= n; i++ {
		L.Push(t.Get(i))
	}
	r.putThread(t)
	return n
}

// lastWords makes the handler that gopher-lua calls on a failing thread. After
// the script's own it raises and catches one more error: only an error raised
// at a time when gopher-lua knows of no handler closes the upvalues of the
// failing frames, and by now it has forgotten ours.
func lastWords(r *Run, handler lua.LValue) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
		result := L.Get(1)
		if r.kill == nil {
			L.Push(handler)
			L.Push(result)
			L.Call(1, 1)
			result = L.Get(-1)
		}
		L.Push(closeUpvalues)
		_ = L.PCall(0, 0, nil)
		L.Push(result)
		return 1
	}}
}

var closeUpvalues = &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
	L.Panic = func(*lua.LState) { panic(&lua.ApiError{Object: lua.LNil, StackTrace: noTrace}) }
	L.RaiseError("closed")
	return 0
}}

// CallResult is how a function ended that ran under an end.
type CallResult struct {
	// Expired: its end passed, and nothing around it did. Results and errors of
	// the function are dropped.
	Expired bool
	// InDoubt: a write that it sent, or tried to, has no known outcome.
	InDoubt bool

	run    *Run
	thread *lua.LState // holds the results; nil if it raised
	err    *lua.ApiError
}

// Returned says whether the function has returned: it neither raised nor was
// interrupted, by its own end or one around it.
func (o CallResult) Returned() bool { return o.run.kill == nil && !o.Expired && o.err == nil }

// Within calls the function at index fn of L's stack, with the n values above
// it, and interrupts it once the fast hand passes at. It always returns, so
// that its caller can clean up; the caller passes the outcome on by
// [CallResult.Finish].
func (r *Run) Within(L *lua.LState, at time.Duration, fn, n int) CallResult {
	r.push(at)
	t, err := r.call(L, fn, n, nil)
	top, ended := r.pop()
	return CallResult{Expired: ended, InDoubt: top.unsettled, run: r, thread: t, err: err}
}

// Finish passes the outcome on: it raises the interrupt of a frame around this
// one, "deadline exceeded" if its own end passed, the function's error as it
// is; or pushes lead and the function's results on L and returns their number.
func (o CallResult) Finish(L *lua.LState, lead ...lua.LValue) int {
	switch {
	case o.run.kill != nil:
		o.run.RaiseInterrupt()
	case o.Expired:
		L.Error(lua.LString(DeadlineExceeded), 0)
	case o.err != nil:
		o.run.keepTrace(o.err)
		L.Error(o.err.Object, 0)
	}
	for _, v := range lead {
		L.Push(v)
	}
	return len(lead) + o.run.moveResults(L, o.thread)
}

// Call runs a whole script: fn with args, on the run's first thread. It
// returns fn's first result, nil if there is none. After a failure the run is
// over: that thread is not to be used again.
func (r *Run) Call(fn *lua.LFunction, args ...lua.LValue) (lua.LValue, *Failure) {
	L := r.root
	L.SetTop(0)
	L.Push(fn)
	for _, v := range args {
		L.Push(v)
	}
	if err := r.runOn(L, len(args), nil); err != nil {
		r.keepTrace(err)
		return nil, &Failure{Value: err.Object, Traces: r.trace.texts}
	}
	return L.Get(1), nil
}
