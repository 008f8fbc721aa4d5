package compile

import "slices"

// function is the Lua function that the rewrite is in.
type function struct {
	parent    *function
	line      int // of its first line; 0 for the main chunk
	block     *block
	upvalues  map[string]bool // outer variables in use, by name as in gopher-lua
	constants map[constant]int
	targets   int // jump targets
	gotos     int // goto statements
}

// constant is an entry of a function's table of constants.
type constant struct {
	number bool
	value  string
}

// block is a scope of local variables. gopher-lua keeps them in consecutive
// registers, so their number is also the next free register.
type block struct {
	parent   *block // nil for the function's own block
	first    int    // register of its first variable
	names    []string
	captured bool  // a closure refers to one of its variables
	loop     *loop // of which it is the body, or nil
	labels   map[string]label
	pending  []pendingGoto
	gotos    int // the function's goto statements when the block began
}

// active returns how many variables are alive.
func (b *block) active() int { return b.first + len(b.names) }

// loop is what a break statement needs of its loop.
type loop struct {
	active int    // variables outside
	until  bool   // a condition follows in which the body's variables are alive
	exit   string // label behind the loop, "" if no goto needs it
}

type label struct{ active, line int }

// pendingGoto is a goto statement whose label hasn't been seen yet.
type pendingGoto struct {
	name   string
	jump   int // index in rewriter.jumps
	active int
}

// variable is what kind of variable a name resolves to.
type variable int

const (
	global variable = iota
	upvalue
	local
)

// enter begins a block in the current function.
func (r *rewriter) enter(l *loop) {
	b := &block{parent: r.fn.block, loop: l, gotos: r.fn.gotos}
	if b.parent != nil {
		b.first = b.parent.active()
	}
	r.fn.block = b
}

// leave ends the current block. Its pending gotos pass to the block outside,
// where the block's variables are gone.
func (r *rewriter) leave() {
	b := r.fn.block
	r.spend(r.fn.gotos - b.gotos)
	for _, g := range b.pending {
		if b.parent == nil {
			r.fail(r.jumps[g.jump].line, "no visible label '%s' for <goto>", g.name)
		}
		g.active = min(g.active, b.first)
		b.parent.pending = append(b.parent.pending, g)
	}
	r.fn.block = b.parent
}

// enterFunction begins a function at line with the given parameters.
func (r *rewriter) enterFunction(line int, params ...string) {
	if r.functions++; r.functions > r.limits.Functions {
		r.fail(line, "chunk has too many functions (limit is %d)", r.limits.Functions)
	}
	r.fn = &function{parent: r.fn, line: line, upvalues: map[string]bool{}, constants: map[constant]int{}}
	r.enter(nil)
	r.declare(params...)
}

func (r *rewriter) leaveFunction() {
	r.leave()
	r.fn = r.fn.parent
}

// declare adds variables to the current block.
func (r *rewriter) declare(names ...string) {
	b := r.fn.block
	b.names = append(b.names, names...)
	if b.active() > localsMax {
		r.refuse("local variables", localsMax)
	}
}

// resolve looks a name up as gopher-lua's compiler will, at its cost, and
// notes captures.
func (r *rewriter) resolve(name string) variable {
	for f := r.fn; f != nil; f = f.parent {
		for b := f.block; b != nil; b = b.parent {
			r.spend(1 + len(b.names))
			if !slices.Contains(b.names, name) {
				continue
			}
			if f == r.fn {
				return local
			}
			b.captured = true
			r.capture(name, f)
			return upvalue
		}
	}
	r.constant(constant{value: name})
	return global
}

// capture makes name an upvalue of the current function and of all functions
// between it and owner.
func (r *rewriter) capture(name string, owner *function) {
	for f := r.fn; f != owner; f = f.parent {
		f.upvalues[name] = true
		r.spend(len(f.upvalues))
		if len(f.upvalues) > upvaluesMax {
			r.fn = f
			r.refuse("upvalues", upvaluesMax)
		}
	}
}

// constant notes the use of a constant. gopher-lua searches its table from the
// front, each time.
func (r *rewriter) constant(c constant) {
	i, ok := r.fn.constants[c]
	if !ok {
		i = len(r.fn.constants)
		if i == r.limits.Constants {
			r.refuse("constants", r.limits.Constants)
		}
		r.fn.constants[c] = i
	}
	r.spend(i + 1)
}

// countTargets counts n more jump targets of the current function.
func (r *rewriter) countTargets(n int) {
	if r.fn.targets += n; r.fn.targets > codeMax {
		r.refuse("jumps", codeMax)
	}
}
