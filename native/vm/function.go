package vm

import lua "github.com/yuin/gopher-lua"

// NewFunction makes a Lua function of a Go function that any number of runs
// may share: nothing reads its environment and it carries no upvalues. A Go
// panic in fn becomes an error of the script.
func NewFunction(fn lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: func(L *lua.LState) int {
		r := Of(L)
		r.frame.goCalls++
		defer r.leaveGo(L)
		if r.frame.goCalls > maxGoCalls {
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
	r.frame.goCalls--
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(*lua.ApiError); ok {
		panic(err)
	}
	L.RaiseError("%s", r.incidents.panicked(p).Object.String())
}
