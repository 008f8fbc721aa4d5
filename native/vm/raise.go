package vm

import (
	"reflect"
	"strings"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// gopher-lua writes the traceback of an error when it catches it, in time that
// grows with the square of the calls that are open, and with a line for each
// tail call that there has been. A thousand deep coroutines took seconds to
// unwind at the end of a run; an error after some seconds of tail calls took as
// long again, and gigabytes. So errors on stacks that have grown come with a
// traceback of ours, interrupts with none, and tail calls aren't counted.

// noTrace is the traceback of an interrupt, which is never shown. It isn't empty,
// because gopher-lua would write one then.
const noTrace = "stack traceback:"

// raised is a thread's Panic: gopher-lua calls it with the error on top of the
// stack. It is set at each poll, so before a stack can have grown.
func raised(L *lua.LState) {
	err := &lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1)}
	switch {
	case Of(L).interrupt != nil:
		err.StackTrace = noTrace
	case isDeep(L):
		err.StackTrace = traceback(L)
	}
	panic(err)
}

// traceEnds is how many frames at each end of a deep stack are shown.
const traceEnds = 10

func isDeep(L *lua.LState) bool {
	_, deep := L.GetStack(4 * traceEnds)
	return deep
}

// traceback is gopher-lua's traceback of a deep stack, with all of its middle
// left out.
func traceback(L *lua.LState) string {
	depth := 4 * traceEnds
	for step := options.CallStackSize; step > 0; {
		if _, ok := L.GetStack(depth + step); ok {
			depth += step
		} else {
			step /= 2
		}
	}
	bottom, _ := L.GetStack(depth)
	main := *bottom
	var b strings.Builder
	b.WriteString(noTrace)
	for level := 0; level <= depth; level++ {
		if level == traceEnds {
			b.WriteString("\n\t...")
			level = depth - traceEnds + 1
		}
		f, _ := L.GetStack(level)
		if level < depth && *f == main {
			b.WriteString("\n\t(tailcall): ?") // no frame of its own
			continue
		}
		_, _ = L.GetInfo("n", f, lua.LNil) // the function of a frame is always known
		b.WriteString("\n\t" + L.Where(level) + " in ")
		if strings.HasPrefix(f.Name, "<") || strings.HasPrefix(f.Name, "(") {
			b.WriteString("function " + f.Name)
		} else if level == depth {
			b.WriteString(f.Name) // main chunk
		} else {
			b.WriteString("function '" + f.Name + "'")
		}
	}
	return b.String()
}

var currentFrame, frameTailCalls = func() (frame, tailCalls uintptr) {
	f, ok := reflect.TypeFor[lua.LState]().FieldByName("currentFrame")
	if ok && f.Type.Kind() == reflect.Pointer {
		if n, ok := f.Type.Elem().FieldByName("TailCall"); ok && n.Type.Kind() == reflect.Int {
			return f.Offset, n.Offset
		}
	}
	panic("gopher-lua's frames have changed")
}()

// forgetTailCalls makes all tail calls of t's innermost frame count as one.
func forgetTailCalls(t *lua.LState) {
	if frame := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(t), currentFrame)); frame != nil {
		n := (*int)(unsafe.Add(frame, frameTailCalls))
		*n = min(*n, 1)
	}
}
