package vm

import lua "github.com/yuin/gopher-lua"

// frame is where a run is. Protected calls and resumes save and restore it as a
// whole: a coroutine may be resumed in another place than it was suspended in.
type frame struct {
	thread    *lua.LState // that runs now
	coroutine *coroutine  // that runs now; nil is the main one
	nesting   int         // protected calls that are open in the coroutine, its body included
	goCalls   int         // Go functions that are open on the thread
}

// maxNesting bounds the protected calls and resumes that may be open at once.
// Each may hold up to 1,000 Lua frames whose Go stack is 0.84 KB at worst:
// 170 MB, under the 512 MB at which Go ends the process.
const maxNesting = 200

// maxGoCalls bounds the Go functions that may be open in each other on one
// thread, as Lua 5.1 bounds C functions. An error passes each by a Go panic of
// its own, inside those before it: the time grows with the square of their
// number, and takes 0.2 s for 1,000.
const maxGoCalls = 200

// nested is how many protected calls and resumes are open in the whole run.
func (f *frame) nested() int {
	if f.coroutine == nil {
		return f.nesting
	}
	return f.coroutine.nestedAtResume + f.nesting
}

// protected is the frame of a protected call on thread t, opened from f.
func (f *frame) protected(t *lua.LState) frame {
	return frame{thread: t, coroutine: f.coroutine, nesting: f.nesting + 1}
}
