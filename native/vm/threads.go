package vm

import (
	"slices"
	"weak"

	lua "github.com/yuin/gopher-lua"
)

// idleThreadsMax is how many idle threads a run keeps for its next protected
// calls; each holds about 4 KB.
const idleThreadsMax = 8

// options of every Lua thread. The Go stack of nested protected calls is
// bounded by maxNesting times CallStackSize.
var options = lua.Options{
	CallStackSize:       1000,
	RegistrySize:        128,
	RegistryMaxSize:     1 << 16,
	RegistryGrowStep:    1 << 11, // 1/32 of the maximum: each step copies all
	SkipOpenLibs:        true,
	MinimizeStackMemory: true,
}

// threadPool is the Lua threads of a run.
type threadPool struct {
	root *lua.LState // the first thread, and the parent of all others
	idle []*lua.LState
	made []weak.Pointer[lua.LState] // all but root, for the walker
}

func newThreadPool(h *hook) threadPool {
	root := lua.NewState(options)
	root.SetContext(h)
	return threadPool{root: root}
}

// take returns an idle thread with an empty stack.
func (p *threadPool) take() *lua.LState {
	if last := len(p.idle) - 1; last >= 0 {
		t := p.idle[last]
		p.idle = p.idle[:last]
		return t
	}
	return p.grow()
}

// grow makes a thread with the hook as its context. gopher-lua would derive a
// context for it from its parent's; while no instruction runs the parent can do
// without one.
func (p *threadPool) grow() *lua.LState {
	ctx := p.root.RemoveContext()
	t, _ := p.root.NewThread()
	p.root.SetContext(ctx)
	t.SetContext(ctx)
	if len(p.made) == cap(p.made) {
		p.live() // some may be gone
	}
	p.made = append(p.made, weak.Make(t))
	return t
}

// put takes back a thread whose function returned, or raised an ordinary error.
// A thread that anything else happened on is thrown away.
func (p *threadPool) put(t *lua.LState) {
	t.SetTop(0)
	if len(p.idle) < idleThreadsMax {
		p.idle = append(p.idle, t)
	}
}

// putResults pushes all that lies on t's stack on L's, puts t back, and returns how
// many they are.
func (p *threadPool) putResults(L, t *lua.LState) int {
	n := t.GetTop()
	for i := 1; i <= n; i++ {
		L.Push(t.Get(i))
	}
	p.put(t)
	return n
}

// live returns the threads besides root that are still in use, or were a moment
// ago.
func (p *threadPool) live() []*lua.LState {
	live := make([]*lua.LState, 0, len(p.made))
	p.made = slices.DeleteFunc(p.made, func(w weak.Pointer[lua.LState]) bool {
		t := w.Value()
		if t != nil {
			live = append(live, t)
		}
		return t == nil
	})
	return live
}
