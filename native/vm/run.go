package vm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Limits bound a run. Zero means: no limit.
type Limits struct {
	// Timeout is the longest time the run may take, on the fast hand.
	Timeout time.Duration
	// Instructions bounds the steps of a run: Lua instructions and the steps
	// that library functions count.
	Instructions int64
	// MemoryBytes bounds what the run holds at once. It is found out with a
	// delay: the run may exceed it by a half of it, at most 64 MiB, for a while.
	MemoryBytes int64
	// Coroutines bounds how many coroutines are alive at once.
	Coroutines int
}

// Config is what a run is made from.
type Config struct {
	// Clock tell the time. Required.
	Clock *clock.Dual
	// Context ends the run from outside: when it is cancelled, the run is
	// killed with [Cancelled] and context.Cause as the reason. Default:
	// context.Background.
	Context context.Context
	Limits  Limits
	// Memory watches the memory of the process, which all runs share. Default:
	// none; then only what library functions make counts.
	Memory *MemoryWatcher
	// Host is what the layer above keeps for the run; see [Run.Host].
	Host any
	// Slot is the run's place among those that may execute Lua at a time.
	// Default: none; all may.
	Slot Slot
	// Yield hands the processor on. It is called every 200 µs of the run.
	// Default: runtime.Gosched, or Slot's Pass. When set, it is called at every
	// look at the clock, so that a test in fake time can let time pass while a
	// script spins.
	Yield func()
	// OnInterrupt is told of each frame that was interrupted at its end, and how
	// long after that end it had unwound. Default: nobody.
	OnInterrupt func(lag time.Duration)
}

// Slot is the right of a run to execute Lua, where runs take turns. It is used
// by the run's goroutine.
type Slot interface {
	// Yield lets others have the slot, if any wait for one, and waits until the
	// run has one, again or for the first time. It gives up when done is closed
	// or after d, and returns whether the run has a slot.
	Yield(done <-chan struct{}, d time.Duration) bool
	// Release gives the slot up, if the run has one.
	Release()
}

// maxArrayIndex is the largest index that gopher-lua keeps in the array part
// of a table, which it fills up to that index: 1<<20 costs 16 MiB at worst.
const maxArrayIndex = 1 << 20

var setMaxArrayIndex = sync.OnceFunc(func() { lua.MaxArrayIndex = maxArrayIndex })

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

// Run is one invocation of a script: its Lua threads, its ends, its accounts.
// It is used by one goroutine at a time; only the cancellation of its context
// and the guard's alarm come from others.
type Run struct {
	left   int32       // steps until the next look; first, because the hook is hot
	stride int32       // how many steps left was last set to
	pace   int32       // how many steps may lie between two looks
	alarm  atomic.Bool // the guard wants a look now
	kill   *Interrupt  // what has ended the run or one of its frames; nil while all is well
	steps  int64       // steps counted at the last look

	clock  *clock.Dual
	ctx    context.Context // plain Go context of the run, ends with the run
	cancel context.CancelFunc
	limits Limits
	host   any
	values []kept // see SetValue
	ends   []end

	slot      Slot   // nil for none
	away      bool   // without its slot
	yield     func() // see Config.Yield
	paced     bool   // yield only every handOverEvery
	yieldedAt time.Duration
	lookedAt  time.Duration

	root    *lua.LState // the first thread, and the parent of all others
	thread  *lua.LState // the thread that runs now
	spare   []*lua.LState
	nesting int // protected calls and resumes that are open
	goCalls int // Go functions that are open on the thread that runs now

	threads []weak.Pointer[lua.LState] // all but root, for those who walk them

	guard       *MemoryWatcher // nil for none
	memory      memory
	coroutines  coroutines
	trace       trace
	incidents   []error
	atEnd       []func()
	onInterrupt func(lag time.Duration) // nil for nobody
}

// NewRun makes a run with an empty global table. Its time starts now.
func NewRun(cfg Config) *Run {
	setMaxArrayIndex()
	r := &Run{clock: cfg.Clock, limits: cfg.Limits, guard: cfg.Memory, host: cfg.Host, yield: cfg.Yield, onInterrupt: cfg.OnInterrupt}
	r.memory.init(cfg.Limits.MemoryBytes)
	if r.yield == nil {
		r.yield, r.paced, r.slot = runtime.Gosched, true, cfg.Slot
	}
	parent := cfg.Context
	if parent == nil {
		parent = context.Background()
	}
	r.ctx, r.cancel = context.WithCancel(parent)
	now := r.clock.ElapsedMax()
	r.yieldedAt, r.lookedAt = now, now
	r.pace = stepsPerLook
	r.ends = append(r.ends, end{at: noEnd, nearest: noEnd})
	if cfg.Limits.Timeout > 0 {
		r.ends[0].at = now + cfg.Limits.Timeout
		r.ends[0].nearest = r.ends[0].at
	}
	r.setStride()
	r.root = lua.NewState(options)
	r.root.SetContext((*hook)(r))
	r.thread = r.root
	if r.guard != nil {
		r.guard.enter(r)
	}
	r.leave() // until the first instruction
	return r
}

// Of returns the run that the thread L belongs to.
func Of(L *lua.LState) *Run { return (*Run)(L.Context().(*hook)) }

// Host returns what the layer above has given the run.
func (r *Run) Host() any { return r.host }

// Thread returns the Lua thread that runs now.
func (r *Run) Thread() *lua.LState { return r.thread }

// Globals returns the table of the run's global variables.
func (r *Run) Globals() *lua.LTable { return r.root.G.Global }

// Clock returns the hands that the run's time is read on.
func (r *Run) Clock() *clock.Dual { return r.clock }

// Steps is how many steps the run has taken.
func (r *Run) Steps() int64 { return r.steps + int64(r.stride-r.left) }

// Incidents returns the Go panics that were turned into errors of the script,
// for the host's log. Scripts never see their text.
func (r *Run) Incidents() []error { return r.incidents }

// AtEnd has f called when the run is closed, after what was registered later.
// A module that opens things outside registers once for all that a run opens.
// f must neither block nor panic.
func (r *Run) AtEnd(f func()) { r.atEnd = append(r.atEnd, f) }

// Close ends the run: suspended coroutines are unwound, every context of the
// run is cancelled, and what it has opened outside is closed. Nothing of the
// run may be used afterwards.
func (r *Run) Close() {
	r.kill = &Interrupt{Cause: Closed}
	r.left = 0
	r.coroutines.closeAll(r)
	r.cancel()
	for _, f := range slices.Backward(r.atEnd) {
		f()
	}
	r.leave()
	if r.guard != nil {
		r.guard.leave(r)
	}
}
