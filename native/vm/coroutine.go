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
// body runs on a goroutine of its own, on which it is never more than one of
// the two that take turns.
type coroutine struct {
	run    *Run
	status string
	fn     lua.LValue // body, until the first resume

	next  func() (struct{}, bool) // hands the processor to the body
	stop  func()                  // lets a suspended body unwind
	yield func(struct{}) bool     // hands the processor back

	transfer []lua.LValue  // values on their way in or out
	err      *lua.ApiError // how the body failed

	// What the run's own fields are set to while the body runs.
	thread  *lua.LState
	nesting int // protected calls open inside, relative to the resume
	goCalls int
	ends    int // ends that were open at the resume; none of them is the body's
	resumer *coroutine

	self   *lua.LState // the handle, while the body runs
	handle weak.Pointer[lua.LState]
}

// coroutines are those of one run.
type coroutines struct {
	current *coroutine
	live    map[*coroutine]struct{} // with a goroutine
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
	if co := r.coroutines.current; co != nil {
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
	if r.nesting+co.nesting >= maxNesting {
		return 0, overflow(L, "stack overflow: more than %d nested protected calls and coroutines", maxNesting).Object
	}
	co.transfer = co.transfer[:0]
	for i := first; i < first+n; i++ {
		co.transfer = append(co.transfer, L.Get(i))
	}
	if co.next == nil {
		r.start(co, h)
	}
	co.self = h
	co.enter()
	co.self = nil
	if r.kill != nil {
		r.RaiseInterrupt()
	}
	if co.err != nil {
		r.keepTrace(co.err)
		return 0, co.err.Object
	}
	for _, v := range co.transfer {
		L.Push(v)
	}
	clear(co.transfer)
	return len(co.transfer), nil
}

// start gives co a goroutine.
func (r *Run) start(co *coroutine, h *lua.LState) {
	cs := &r.coroutines
	if limit := r.limits.Coroutines; limit > 0 && len(cs.live) >= limit {
		if r.closeOrphans() == 0 {
			runtime.GC() // perhaps many are garbage that nobody has looked for
			if r.closeOrphans() == 0 {
				r.RaiseLimit(Coroutine, int64(limit))
			}
		}
	}
	co.next, co.stop = iter.Pull(co.body)
	co.thread = r.takeThread()
	if cs.live == nil {
		cs.live = map[*coroutine]struct{}{}
	}
	cs.live[co] = struct{}{}
	co.handle = weak.Make(h)
}

// body is what runs on the coroutine's goroutine.
func (co *coroutine) body(yield func(struct{}) bool) {
	co.yield = yield
	t := co.thread
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
		co.run.putThread(t)
	}
	co.status = Dead
}

// enter lets the body run until it yields or ends, with the run's fields set
// to what they were when it stopped.
func (co *coroutine) enter() {
	r := co.run
	thread, nesting, goCalls := r.thread, r.nesting, r.goCalls
	co.resumer = r.coroutines.current
	if co.resumer != nil {
		co.resumer.status = Normal
	}
	co.status = Running
	co.ends = len(r.ends)
	r.coroutines.current, r.thread, r.goCalls = co, co.thread, co.goCalls
	r.nesting += co.nesting
	co.next()
	co.thread, co.nesting, co.goCalls = r.thread, r.nesting-nesting, r.goCalls
	r.thread, r.nesting, r.goCalls = thread, nesting, goCalls
	r.coroutines.current = co.resumer
	if co.resumer != nil {
		co.resumer.status = Running
	}
	co.resumer = nil
	if co.status == Dead {
		co.thread, co.nesting = nil, 0
		delete(r.coroutines.live, co)
	}
}

// Yield suspends the coroutine that runs now, with the n values on top of L's
// stack, and pushes what it is resumed with. A coroutine may not be suspended
// out of the function of a deadline or lease: those can't stop their clock.
func (r *Run) Yield(L *lua.LState, n int) int {
	co := r.coroutines.current
	if co == nil {
		Raise(L, "attempt to yield from outside a coroutine")
	}
	if len(r.ends) > co.ends {
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

// closeOrphans unwinds the suspended coroutines whose handles have been
// collected: no script can reach them any more. It returns how many.
func (r *Run) closeOrphans() (n int) {
	kill := r.kill
	for co := range r.coroutines.live {
		if co.status == Suspended && co.handle.Value() == nil {
			r.close(co)
			n++
		}
	}
	if n > 0 {
		if r.kill = kill; kill == nil {
			r.countSteps()
		}
	}
	return n
}

// close unwinds a suspended body. While it does nothing of it may run.
func (r *Run) close(co *coroutine) {
	if co.status != Suspended || co.next == nil {
		return
	}
	r.setKill(&Interrupt{Cause: Closed})
	current, thread, nesting, goCalls := r.coroutines.current, r.thread, r.nesting, r.goCalls
	r.coroutines.current, r.thread, r.goCalls = co, co.thread, co.goCalls
	co.ends = len(r.ends)
	co.stop()
	r.coroutines.current, r.thread, r.nesting, r.goCalls = current, thread, nesting, goCalls
	co.status = Dead
	delete(r.coroutines.live, co)
}

// closeAll unwinds every coroutine at the end of the run.
func (cs *coroutines) closeAll(r *Run) {
	for co := range cs.live {
		r.close(co)
	}
}
