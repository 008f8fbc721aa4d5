package vm

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// callFrame is gopher-lua's record of a call that is open. It has no methods that
// tell the instruction or the caller without a search from the innermost call.
type callFrame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *callFrame
	Pc         int // of the instruction after the current one
	Base       int
	LocalBase  int // index of register 0 in the thread's registers
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

// threadRegisters is gopher-lua's stack of values of a thread.
type threadRegisters struct {
	array []lua.LValue
}

// Where a thread keeps its innermost call and its registers.
var currentFrameOffset, registersOffset = func() (frame, registers uintptr) {
	thread := reflect.TypeFor[lua.LState]()
	frame = pointerTo[callFrame](thread, "currentFrame")
	registers = pointerTo[threadRegisters](thread, "reg")
	return frame, registers
}()

// pointerTo returns the offset of a field of t that points at a struct which
// begins with the fields of T. It panics if gopher-lua isn't so.
func pointerTo[T any](t reflect.Type, name string) uintptr {
	field, ok := t.FieldByName(name)
	if !ok || field.Type.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("gopher-lua has changed: no pointer %s in %v", name, t))
	}
	mustBeginLike(reflect.TypeFor[T](), field.Type.Elem())
	return field.Offset
}

// currentFrame returns the innermost call on L, nil if there is none.
func currentFrame(L *lua.LState) *callFrame {
	return *(**callFrame)(unsafe.Add(unsafe.Pointer(L), currentFrameOffset))
}

// register returns the value of a register of f, nil if there is none.
func (f *callFrame) register(L *lua.LState, index int) lua.LValue {
	r := *(**threadRegisters)(unsafe.Add(unsafe.Pointer(L), registersOffset))
	if i := f.LocalBase + index; i < len(r.array) && r.array[i] != nil {
		return r.array[i]
	}
	return lua.LNil
}

// isLua reports whether f is the call of a Lua function that has begun.
func (f *callFrame) isLua() bool { return f != nil && !f.Fn.IsG && f.Pc > 0 }

// forgetTailCalls counts all tail calls of t's innermost call as one.
func forgetTailCalls(t *lua.LState) {
	if f := currentFrame(t); f != nil {
		f.TailCall = min(f.TailCall, 1)
	}
}
