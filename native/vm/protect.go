package vm

import lua "github.com/yuin/gopher-lua"

// PCall is Lua's pcall: it calls the function at index fn of L's stack with
// the n values above it. On success it pushes the results on L and returns
// their number and nil; else it returns the error value. An interrupt that
// belongs to a frame around it is passed on.
func (r *Run) PCall(L *lua.LState, fn, n int) (int, lua.LValue) {
	t, err := r.call(L, fn, n, nil)
	return r.retResults(L, t, err)
}

// XPCall is Lua's xpcall: like PCall, but handler is called with the error on
// the thread that failed, before it unwinds, and its first result takes the
// error's place. handler is at an index of L's stack.
func (r *Run) XPCall(L *lua.LState, fn, n int, handler lua.LValue) (int, lua.LValue) {
	t, err := r.call(L, fn, n, messageHandler(r, handler))
	return r.retResults(L, t, err)
}

// retResults moves results from t to L, or returns the error.
func (r *Run) retResults(L, t *lua.LState, err *lua.ApiError) (int, lua.LValue) {
	if r.interrupt != nil {
		r.RaiseInterrupt()
	}
	if err != nil {
		r.DropTrace()
		return 0, err.Object
	}
	return r.threads.putResults(L, t), nil
}

// messageHandler makes the handler that gopher-lua calls on a failing thread.
// After the script's own it raises and catches one more error: only an error
// raised at a time when gopher-lua knows of no handler closes the upvalues of
// the failing frames, and by now it has forgotten ours.
func messageHandler(r *Run, handler lua.LValue) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
		result := L.Get(1)
		L.Panic = raised
		if r.interrupt == nil {
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
