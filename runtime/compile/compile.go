package compile

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Bounds that can't be configured: the first two are Lua's own, the others
// are what gopher-lua's instructions can hold.
const (
	localsMax     = 200    // local variables at once in a function
	upvaluesMax   = 60     // outer variables that one function uses
	codeMax       = 131071 // instructions of a function, the reach of a jump
	positionalMax = 25_550 // items without a key in one table constructor
)

// Limits bound one compilation and what the compiler keeps. The zero value of
// each field stands for the default that its comment names; a negative one
// refuses every source.
type Limits struct {
	// SourceBytes is the longest source. Default 512 KiB.
	SourceBytes int
	// Nesting is how many brackets and blocks may be open at once. Default
	// 200, as in Lua. Recursion in gopher-lua's compiler follows it.
	Nesting int
	// Operators is how many operators, calls, field accesses and elseif steps
	// may lie on one path from the outermost expression to an operand: the
	// length of a+b+c, of a.b.c or of f()():g(). Default 1000.
	Operators int
	// Constants is how many different constants (numbers, strings, names of
	// globals and fields) one function may use. Default 8192.
	Constants int
	// Functions is how many functions one source may define. Default 5000.
	// Each takes about 20 kB while the source is compiled.
	Functions int
	// Work is how many steps the quadratic loops of gopher-lua's compiler may
	// take: looking up names, constants and labels, folding numbers. A step
	// costs 1 to 10 ns. Default 50,000,000.
	Work int
	// Concurrent is how many compilations run at once, others wait. Default
	// GOMAXPROCS.
	Concurrent int
	// CacheBytes is how much memory the kept protos may take, as estimated by
	// their size. Default 64 MiB.
	CacheBytes int
	// Charge is called with the size of a string before a concatenation makes it,
	// on the state that runs it; it refuses by raising an error on L. By default
	// nothing is charged.
	Charge func(L *lua.LState, bytes int64)
	// Number returns a number as a concatenation writes it. By default it is
	// written as gopher-lua does.
	Number func(float64) string
	// Length returns the length of a list without its metamethod. Default
	// [lua.LTable.Len].
	Length func(t *lua.LTable) int
	// Join makes one string of texts that have size bytes in all, on the state
	// that concatenates them. It is called for strings of more than 256 KiB, which
	// take long to copy, and may raise an error on L. Default strings.Join.
	Join func(L *lua.LState, texts []string, size int) string
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.SourceBytes, 512<<10)
	setDefault(&l.Nesting, 200)
	setDefault(&l.Operators, 1000)
	setDefault(&l.Constants, 8192)
	setDefault(&l.Functions, 5000)
	setDefault(&l.Work, 50_000_000)
	setDefault(&l.Concurrent, runtime.GOMAXPROCS(0))
	setDefault(&l.CacheBytes, 64<<20)
	if l.Charge == nil {
		l.Charge = func(*lua.LState, int64) {}
	}
	if l.Number == nil {
		l.Number = func(x float64) string { return lua.LNumber(x).String() }
	}
	if l.Length == nil {
		l.Length = (*lua.LTable).Len
	}
	if l.Join == nil {
		l.Join = func(_ *lua.LState, texts []string, _ int) string { return strings.Join(texts, "") }
	}
	return l
}

func setDefault(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

// Compiler compiles Lua sources within its limits and keeps the results. It is
// safe for use by several goroutines.
type Compiler struct {
	limits     Limits
	intrinsics *intrinsics
	slots      chan struct{} // one element per running compilation
	cache      *cache
}

// New returns a compiler. It panics if limits.Concurrent is negative.
func New(limits Limits) *Compiler {
	limits = limits.withDefaults()
	return &Compiler{
		limits:     limits,
		intrinsics: newIntrinsics(limits),
		slots:      make(chan struct{}, limits.Concurrent),
		cache:      newCache(limits.CacheBytes),
	}
}

// Compile compiles source. Name is the chunk's name as errors and tracebacks
// show it ("main.lua"). The proto may come from the cache and is shared: it
// must not be changed. A source that is wrong or over a limit gives a
// [*SyntaxError].
//
// When ctx ends first, Compile returns its cause at once. The stages that can't
// be interrupted go on in the background, for about a second at most by the
// default limits, and keep their slot.
func (c *Compiler) Compile(ctx context.Context, name, source string) (*lua.FunctionProto, error) {
	if len(source) > c.limits.SourceBytes {
		return nil, &SyntaxError{File: name, Message: fmt.Sprintf("source has %d bytes (limit is %d)", len(source), c.limits.SourceBytes)}
	}
	source = strings.TrimPrefix(source, "\ufeff") // the mark that some editors put before a text
	key := cacheKey{name: name, sum: sha256.Sum256([]byte(source))}
	if proto, ok := c.cache.get(key); ok {
		return proto, nil
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-c.slots }()
		done <- c.compileAndCache(ctx, key, source)
	}()
	select {
	case r := <-done:
		return r.proto, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type result struct {
	proto *lua.FunctionProto
	err   error
}

// compileAndCache compiles source and keeps the proto, unless another call has
// done so while this one was waiting.
func (c *Compiler) compileAndCache(ctx context.Context, key cacheKey, source string) result {
	if proto, ok := c.cache.get(key); ok {
		return result{proto: proto}
	}
	proto, bytes, err := c.translate(ctx, key.name, source)
	if err != nil {
		return result{err: err}
	}
	c.cache.put(key, proto, bytes)
	return result{proto: proto}
}

// translate runs the stages that the package comment lists, as long as ctx
// lasts. It also returns the size of the proto in memory.
func (c *Compiler) translate(ctx context.Context, name, source string) (proto *lua.FunctionProto, bytes int, err error) {
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, recovered(name, r)
		}
	}()
	if strings.HasPrefix(source, "\x1b") {
		return nil, 0, &SyntaxError{File: name, Line: 1, Message: "binary chunks can't be loaded"}
	}
	source, refused := replaceEscapes(name, skipShebang(source))
	if refused != nil {
		return nil, 0, refused
	}
	refused = scan(name, source, &yieldingReader{ctx: ctx, rest: source}, c.limits)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if refused != nil {
		return nil, 0, refused
	}
	chunk, err := parse.Parse(&yieldingReader{ctx: ctx, rest: source}, name)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, parseError(name, source, err)
	}
	if chunk == nil { // the parser swallows panics whose value isn't an error
		return nil, 0, recovered(name, "parser failed without an error")
	}
	if err := checkDepth(name, chunk, c.limits); err != nil {
		return nil, 0, err
	}
	r := &rewriter{file: name, limits: c.limits}
	chunk = r.chunk(chunk)
	functions := r.nameIntrinsics(c.intrinsics)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	proto, err = lua.Compile(chunk, name)
	if err != nil {
		return nil, 0, compileError(name, err)
	}
	p := patcher{file: name, jumps: r.jumps, intrinsics: functions}
	p.patch(proto)
	return proto, p.bytes, nil
}

// skipShebang drops the rest of a first line that begins with "#!", but not
// its newline, so that lines keep their numbers.
func skipShebang(source string) string {
	if !strings.HasPrefix(source, "#!") {
		return source
	}
	if end := strings.IndexAny(source, "\r\n"); end >= 0 {
		return source[end:]
	}
	return ""
}
