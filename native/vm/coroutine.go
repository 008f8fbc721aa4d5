package vm

import (
	"context"
	"iter"
	"runtime"
	"weak"

	lua "github.com/yuin/gopher-lua"
)

// Status of a coroutine, in Lua's words.
const (
	Suspended = "suspended"
	Running   = "running"
	Normal    = "normal" // it has resumed another one
	Dead      = "dead"
)

// coroutine is a Lua coroutine. From its first resume until it is dead its
// body runs on a goroutine of its own, of which never more than one runs at a
// time: it and the one that has resumed it take turns.
type coroutine struct {
	run    *Run
	status string
	fn     lua.LValue // body, until the first resume

	next  func() (struct{}, bool) // lets the body run until it yields or ends
	stop  func()                  // lets a suspended body unwind
	yield func(struct{}) bool     // suspends the body

	transfer []lua.LValue  // values on their way in or out
	err      *lua.ApiError // how the body failed

	frame             frame // where the body was suspended
	nestedAtResume    int   // protected calls and resumes around the last resume
	deadlinesAtResume int   // that were open at the last resume, none of them the body's

	self   *lua.LState // the handle, while the body runs
	handle weak.Pointer[lua.LState]
}

// handle is the context of the Lua thread that scripts hold for a coroutine.
// That thread runs nothing; it can be collected while the body is suspended.
type handle struct {
	context.Context
	co *coroutine
}

// NewCoroutine makes a suspended coroutine and returns its handle, a value of
// Lua type "thread".
func (r *Run) NewCoroutine(fn *lua.LFunction) *lua.LState {
	co := &coroutine{run: r, status: Suspended, fn: fn}
	h := &lua.LState{}
	h.SetContext(handle{co: co})
	return h
}

func coroutineOf(h *lua.LState) *coroutine { return h.Context().(handle).co }

// CoroutineStatus returns the status of the coroutine behind a handle.
func CoroutineStatus(h *lua.LState) string { return coroutineOf(h).status }

// RunningCoroutine returns the handle of the coroutine that runs now, nil if
// it is the main one.
func (r *Run) RunningCoroutine() *lua.LState {
	if co := r.frame.coroutine; co != nil {
		return co.self
	}
	return nil
}

// Resume resumes the coroutine behind h with the n values above index first of
// L's stack. Like [Run.PCall] it pushes what the coroutine yielded or returned,
// or returns the error, for [Run.DropTrace] or [Run.Reraise]; an interrupt is
// passed on.
func (r *Run) Resume(L *lua.LState, h *lua.LState, first, n int) (int, lua.LValue) {
	co := coroutineOf(h)
	if co.status != Suspended {
		return 0, lua.LString("cannot resume " + map[string]string{
			Running: "non-suspended coroutine", Normal: "non-suspended coroutine", Dead: "dead coroutine"}[co.status])
	}
	if r.frame.nested()+co.frame.nesting >= maxNesting {
		return 0, overflow(L).Object
	}
	co.transfer = co.transfer[:0]
	for i := first; i < first+n; i++ {
		co.transfer = append(co.transfer, L.Get(i))
	}
	if co.next == nil {
		co.start(h)
	}
	co.self = h
	co.enter()
	co.self = nil
	if r.interrupt != nil {
		r.RaiseInterrupt()
	}
	if co.err != nil {
		r.trace.keep(co.err)
		return 0, co.err.Object
	}
	for _, v := range co.transfer {
		L.Push(v)
	}
	clear(co.transfer)
	return len(co.transfer), nil
}

// start prepares the coroutine behind h for its first resume.
func (co *coroutine) start(h *lua.LState) {
	r := co.run
	if limit := r.limits.Coroutines; limit > 0 && len(r.coroutines) >= limit {
		if r.closeUnreachable() == 0 {
			runtime.GC() // perhaps many are garbage that was not found yet
			if r.closeUnreachable() == 0 {
				r.RaiseLimit(Coroutine, int64(limit))
			}
		}
	}
	co.next, co.stop = iter.Pull(co.body)
	co.frame = frame{thread: r.threads.take(), coroutine: co}
	if r.coroutines == nil {
		r.coroutines = map[*coroutine]struct{}{}
	}
	r.coroutines[co] = struct{}{}
	co.handle = weak.Make(h)
}

// body is what runs on the coroutine's goroutine.
func (co *coroutine) body(yield func(struct{}) bool) {
	co.yield = yield
	t := co.run.frame.thread
	t.Push(co.fn)
	co.fn = nil
	for _, v := range co.transfer {
		t.Push(v)
	}
	co.err = co.run.runOn(t, len(co.transfer), nil)
	co.transfer = co.transfer[:0]
	if co.err == nil {
		for i := 1; i <= t.GetTop(); i++ {
			co.transfer = append(co.transfer, t.Get(i))
		}
		co.run.threads.put(t)
	}
	co.status = Dead
}

// enter lets the body run until it yields or ends.
func (co *coroutine) enter() {
	resumer := co.run.frame.coroutine
	if resumer != nil {
		resumer.status = Normal
	}
	co.status = Running
	co.switchTo(func() { co.next() })
	if resumer != nil {
		resumer.status = Running
	}
}

// switchTo calls resume, which runs on the body's goroutine, in the frame in
// which the body was suspended.
func (co *coroutine) switchTo(resume func()) {
	r := co.run
	resumer := r.frame
	co.nestedAtResume, co.deadlinesAtResume = resumer.nested(), len(r.deadlines)
	r.frame = co.frame
	resume()
	co.frame, r.frame = r.frame, resumer
	if co.status == Dead {
		co.frame = frame{}
		delete(r.coroutines, co)
	}
}

// Yield suspends the coroutine that runs now, with the n values on top of L's
// stack, and pushes what it is resumed with. A coroutine may not be suspended
// out of the function of a deadline or lease: those can't stop their clock.
func (r *Run) Yield(L *lua.LState, n int) int {
	co := r.frame.coroutine
	if co == nil {
		Raise(L, "attempt to yield from outside a coroutine")
	}
	if len(r.deadlines) > co.deadlinesAtResume {
		Raise(L, "attempt to yield out of the function of native.deadline.with or native.lock.with: a lease can't be suspended")
	}
	top := L.GetTop()
	co.transfer = co.transfer[:0]
	for i := top - n + 1; i <= top; i++ {
		co.transfer = append(co.transfer, L.Get(i))
	}
	co.status = Suspended
	if !co.yield(struct{}{}) {
		r.RaiseInterrupt()
	}
	for _, v := range co.transfer {
		L.Push(v)
	}
	clear(co.transfer)
	return len(co.transfer)
}

// closeUnreachable unwinds the suspended coroutines whose handles have been
// collected: no script can reach them any more. It returns how many.
func (r *Run) closeUnreachable() (n int) {
	interrupt := r.interrupt
	for co := range r.coroutines {
		if co.status == Suspended && co.handle.Value() == nil {
			co.close()
			n++
		}
	}
	if n > 0 {
		if r.interrupt = interrupt; interrupt == nil {
			r.meter.restart()
		}
	}
	return n
}

// close unwinds a suspended body. Meanwhile no code of it may run, and so the
// run is interrupted.
func (co *coroutine) close() {
	if co.status != Suspended || co.next == nil {
		return
	}
	co.run.setInterrupt(&Interrupt{Cause: Closed})
	co.switchTo(co.stop)
}

// closeCoroutines unwinds every coroutine at the end of the run.
func (r *Run) closeCoroutines() {
	for co := range r.coroutines {
		co.close()
	}
}
