package vm

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// Call runs a whole script: fn with args, on the run's first thread. It
// returns fn's first result, nil if there is none. After a failure the run is
// over: that thread is not to be used again.
func (r *Run) Call(fn *lua.LFunction, args ...lua.LValue) (lua.LValue, *Failure) {
	L := r.threads.root
	L.SetTop(0)
	L.Push(fn)
	for _, v := range args {
		L.Push(v)
	}
	if err := r.runOn(L, len(args), nil); err != nil {
		r.trace.keep(err)
		return nil, &Failure{Value: err.Object, Stack: r.frames(r.trace.calls)}
	}
	return L.Get(1), nil
}

// call runs the function at index fn of from's stack, with the n values above
// it as arguments, on a thread of its own. On success the results are that
// thread's stack; the caller reads them and puts the thread back. On failure no
// thread is returned, and err is never nil.
func (r *Run) call(from *lua.LState, fn, n int, handler *lua.LFunction) (*lua.LState, *lua.ApiError) {
	if r.frame.nested() >= maxNesting {
		return nil, overflow(from)
	}
	t := r.threads.take()
	for i := fn; i <= fn+n; i++ {
		t.Push(from.Get(i))
	}
	if err := r.runOn(t, n, handler); err != nil {
		return nil, err
	}
	return t, nil
}

// overflow is the error of a call on L that would be nested too deep.
func overflow(L *lua.LState) *lua.ApiError {
	text := Position(L, 1) + fmt.Sprintf("stack overflow: more than %d nested protected calls and coroutines", maxNesting)
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(text)}
}

// runOn calls the function that lies below n arguments on t. Nothing leaves it
// as a panic.
func (r *Run) runOn(t *lua.LState, n int, handler *lua.LFunction) (err *lua.ApiError) {
	outer := r.frame
	r.frame = outer.protected(t)
	defer func() {
		r.frame = outer
		if p := recover(); p != nil {
			// gopher-lua's PCall itself failed: the thread is beyond repair.
			err = r.incidents.fromPCall(p)
		}
	}()
	r.meter.hold()
	failure := t.PCall(n, lua.MultRet, handler)
	if failure == nil {
		return nil
	}
	if !errors.As(failure, &err) {
		return r.incidents.panicked(failure)
	}
	if err.Type == lua.ApiErrorPanic {
		return r.incidents.fromThread(err)
	}
	err.Object = withoutAddress(err.Object)
	if r.interrupt == nil && t != r.threads.root {
		r.threads.put(t)
	}
	return err
}
