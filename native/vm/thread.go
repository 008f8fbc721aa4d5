package vm

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"weak"

	lua "github.com/yuin/gopher-lua"
)

// maxNesting bounds the protected calls and resumes that may be open at once.
// Each may hold up to 1,000 Lua frames whose Go stack is 0.84 KB at worst:
// 170 MB, under the 512 MB at which Go ends the process.
const maxNesting = 200

// maxGoCalls bounds the Go functions that may be open in each other on one
// thread, as Lua 5.1 bounds C functions. An error passes each by a Go panic of
// its own, inside those before it: the time grows with the square of their
// number, and takes 0.2 s for 1,000.
const maxGoCalls = 200

// spareThreads is how many idle threads a run keeps for its next protected
// calls; each holds about 4 KB.
const spareThreads = 8

// newThread makes a Lua thread with the hook as its context. gopher-lua would
// derive a context for it from its parent's; while no instruction runs the
// parent can do without one.
func (r *Run) newThread() *lua.LState {
	ctx := r.root.RemoveContext()
	t, _ := r.root.NewThread()
	r.root.SetContext(ctx)
	t.SetContext(ctx)
	if len(r.threads) == cap(r.threads) {
		r.liveThreads() // some may be gone
	}
	r.threads = append(r.threads, weak.Make(t))
	return t
}

// takeThread returns an idle thread with an empty stack.
func (r *Run) takeThread() *lua.LState {
	if last := len(r.spare) - 1; last >= 0 {
		t := r.spare[last]
		r.spare = r.spare[:last]
		return t
	}
	return r.newThread()
}

// putThread takes back a thread whose function returned, or raised an
// ordinary error. A thread that anything else happened on is thrown away.
func (r *Run) putThread(t *lua.LState) {
	t.SetTop(0)
	if len(r.spare) < spareThreads {
		r.spare = append(r.spare, t)
	}
}

// call runs the function at index fn of from's stack, with the n values above
// it as arguments, on a thread of its own. On success the results are that
// thread's stack; whoever has read them gives the thread back. On failure no
// thread is returned, and err is never nil.
func (r *Run) call(from *lua.LState, fn, n int, handler *lua.LFunction) (*lua.LState, *lua.ApiError) {
	if r.nesting >= maxNesting {
		return nil, overflow(from, "stack overflow: more than %d nested protected calls and coroutines", maxNesting)
	}
	t := r.takeThread()
	for i := fn; i <= fn+n; i++ {
		t.Push(from.Get(i))
	}
	if err := r.runOn(t, n, handler); err != nil {
		return nil, err
	}
	return t, nil
}

func overflow(at *lua.LState, format string, args ...any) *lua.ApiError {
	text := Position(at, 1) + fmt.Sprintf(format, args...)
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(text)}
}

// runOn calls the function that lies below n arguments on t. Nothing leaves it
// as a panic.
func (r *Run) runOn(t *lua.LState, n int, handler *lua.LFunction) (err *lua.ApiError) {
	outer, goCalls := r.thread, r.goCalls
	r.thread, r.goCalls = t, 0
	r.nesting++
	defer func() {
		r.thread, r.goCalls = outer, goCalls
		r.nesting--
		if p := recover(); p != nil {
			// gopher-lua's PCall itself failed: the thread is beyond repair.
			err = r.fromPCall(p)
		}
	}()
	failure := t.PCall(n, lua.MultRet, handler)
	if failure == nil {
		return nil
	}
	if !errors.As(failure, &err) {
		return r.incident(failure)
	}
	if err.Type == lua.ApiErrorPanic {
		return r.incident(err.Object.String())
	}
	err.Object = withoutAddress(err.Object)
	if r.kill == nil && t != r.root {
		r.putThread(t)
	}
	return err
}

// internalError is what a script sees of a Go panic.
const internalError = "internal error"

// incidentsMax bounds the errors that a run keeps for the host's log.
const incidentsMax = 10

// noPosition is how gopher-lua's PCall fails for a frame that hasn't run an
// instruction: that of a tail call whose arguments have filled the registry.
const noPosition = "index out of range [-1]"

// fromPCall is the error of a PCall that panicked itself, as it does when the
// registry is full.
func (r *Run) fromPCall(p any) *lua.ApiError {
	if err, ok := p.(*lua.ApiError); ok {
		return err
	}
	if err, ok := p.(error); ok && strings.Contains(err.Error(), noPosition) {
		return r.incident(callDepth)
	}
	return r.incident(p)
}

// callDepth is what gopher-lua panics with, instead of raising an error, when
// a thread has too many calls open.
const callDepth = "lua callstack overflow"

// incident keeps a Go panic for the host and returns what the script sees.
func (r *Run) incident(p any) *lua.ApiError {
	if p == callDepth {
		return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString("stack overflow")}
	}
	r.RecordIncident(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(internalError)}
}

// NewFunction makes a Lua function of a Go function that any number of runs
// may share: nothing reads its environment and it carries no upvalues. A Go
// panic in fn becomes an error of the script.
func NewFunction(fn lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
		r := Of(L)
		r.goCalls++
		defer r.leaveGo(L)
		if r.goCalls > maxGoCalls {
			Raise(L, "stack overflow: more than %d nested calls of library functions", maxGoCalls)
		}
		return fn(L)
	}}
}

// NewClosure makes a Lua function like [NewFunction], but for the run of L alone.
// What it keeps alive is held by the run, and counts as its memory.
func NewClosure(L *lua.LState, fn lua.LGFunction, keeps ...lua.LValue) *lua.LFunction {
	return L.NewClosure(NewFunction(fn).GFunction, keeps...)
}

// leaveGo is deferred by each Go function. It turns a Go panic into a Lua error
// where it happens, so that the upvalues of the frames above are closed. Lua
// errors pass.
func (r *Run) leaveGo(L *lua.LState) {
	r.goCalls--
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(*lua.ApiError); ok {
		panic(err)
	}
	L.RaiseError("%s", r.incident(p).Object.String())
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

// RecordIncident keeps an error for the host's log that no script may see.
func (r *Run) RecordIncident(err error) {
	if len(r.incidents) < incidentsMax {
		r.incidents = append(r.incidents, err)
	}
}
