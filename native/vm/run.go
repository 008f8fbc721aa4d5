package vm

import (
	"context"
	"slices"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/clock"
)

// Limits bound a run. Zero means no limit.
type Limits struct {
	// Timeout is the longest time the run may take, by ElapsedMax.
	Timeout time.Duration
	// Instructions bounds the steps of a run: Lua instructions and the steps
	// that library functions count.
	Instructions int64
	// MemoryBytes bounds what the run holds at once. It is measured with a
	// delay: the run may exceed it by a half of it, at most 64 MiB, for a while.
	MemoryBytes int64
	// Coroutines bounds how many coroutines are alive at once.
	Coroutines int
}

// Config is what a run is made from.
type Config struct {
	// Clock measures the run's time. Required.
	Clock *clock.Dual
	// Context ends the run from outside: when it is cancelled, the run is
	// interrupted with [Cancelled] and context.Cause as the reason. The default
	// is context.Background.
	Context context.Context
	Limits  Limits
	// Memory watches the memory of the process, which all runs share. nil
	// disables it; then only what library functions make counts.
	Memory *MemoryWatcher
	// Host is what the layer above keeps for the run; see [Run.Host].
	Host any
	// Slot is the run's place among those that may execute Lua at a time. nil
	// disables it; then all may.
	Slot Slot
	// Yield lets others have the processor. It is called every 200 µs of the
	// run. The default is Slot's Yield, or else runtime.Gosched. When set, it is
	// called at every safepoint poll, so that a test in fake time can let time
	// pass while a script spins.
	Yield func()
	// Instead returns what to use instead of a global, or a field of one, that
	// scripts don't have, such as "os.getenv". The error of a script that uses it
	// shows the text. "" shows nothing. nil disables it.
	Instead func(name string) string
	// OnInterrupt is called for each frame that was interrupted at its deadline,
	// with the time from the deadline until it had unwound. nil disables it.
	OnInterrupt func(lag time.Duration)
}

// maxArrayIndex is the largest index that gopher-lua keeps in the array part
// of a table, which it fills up to that index: 1<<20 costs 16 MiB at worst.
const maxArrayIndex = 1 << 20

var setMaxArrayIndex = sync.OnceFunc(func() { lua.MaxArrayIndex = maxArrayIndex })

// Run is one invocation of a script. It is used by one goroutine at a time; only
// the cancellation of its context and the memory watcher's alarm come from
// others.
type Run struct {
	meter     meter      // first, because the hook is hot
	interrupt *Interrupt // what has ended the run or one of its frames; nil while it goes on
	frame     frame

	clock     *clock.Dual
	deadlines deadlines
	stop      context.Context // whose end is a deadline of stopFrame; nil for none
	stopFrame int             // index in deadlines
	processor processor
	limits    Limits
	ctx       context.Context // plain Go context of the run, ends with the run
	cancel    context.CancelFunc

	threads    threadPool
	coroutines map[*coroutine]struct{} // that have a goroutine
	memory     memory

	host        any
	values      values
	instead     func(name string) string // nil for none
	hints       map[hintKey]string
	chunks      []*lua.FunctionProto // that were made functions
	trace       trace
	incidents   incidents
	atEnd       []func()
	onInterrupt func(lag time.Duration) // nil for none
}

// NewRun makes a run with an empty global table. Its time starts now.
func NewRun(cfg Config) *Run {
	setMaxArrayIndex()
	now := cfg.Clock.ElapsedMax()
	r := &Run{
		meter: newMeter(cfg.Limits.Instructions, now), processor: newProcessor(&cfg, now),
		clock: cfg.Clock, limits: cfg.Limits, host: cfg.Host, onInterrupt: cfg.OnInterrupt, instead: cfg.Instead,
	}
	r.meter.restart()
	r.memory.init(cfg.Limits.MemoryBytes, cfg.Memory)
	parent := cfg.Context
	if parent == nil {
		parent = context.Background()
	}
	r.ctx, r.cancel = context.WithCancel(parent)
	timeout := never
	if cfg.Limits.Timeout > 0 {
		timeout = now + cfg.Limits.Timeout
	}
	r.deadlines.push(timeout)
	r.threads = newThreadPool((*hook)(r))
	r.frame.thread = r.threads.root
	if cfg.Memory != nil {
		cfg.Memory.add(r)
	}
	r.park() // until the first instruction
	return r
}

// Of returns the run that the thread L belongs to.
func Of(L *lua.LState) *Run { return (*Run)(L.Context().(*hook)) }

// Host returns what the layer above has given the run.
func (r *Run) Host() any { return r.host }

// Thread returns the Lua thread that runs now.
func (r *Run) Thread() *lua.LState { return r.frame.thread }

// Globals returns the table of the run's global variables.
func (r *Run) Globals() *lua.LTable { return r.threads.root.G.Global }

// Clock returns the clock that measures the run's time.
func (r *Run) Clock() *clock.Dual { return r.clock }

// AtEnd has f called when the run is closed, after what was registered later.
// A module that opens things outside registers once for all that a run opens.
// f must neither block nor panic.
func (r *Run) AtEnd(f func()) { r.atEnd = append(r.atEnd, f) }

// Close ends the run: suspended coroutines are unwound, every context of the
// run is cancelled, and what it has opened outside is closed. Nothing of the
// run may be used afterwards.
func (r *Run) Close() {
	r.setInterrupt(&Interrupt{Cause: Closed})
	r.closeCoroutines()
	r.cancel()
	for _, f := range slices.Backward(r.atEnd) {
		f()
	}
	r.park()
	if w := r.memory.watcher; w != nil {
		w.remove(r)
	}
}
