package compile

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// intrinsic is a Go function that compiled code calls and scripts can't name.
type intrinsic int

const (
	concatIntrinsic  intrinsic = iota // concat(a, b, ...) is a..b.. ...
	extendIntrinsic                   // extend(t, n, ...) stores ... at t[n+1] and up and is t
	lengthIntrinsic                   // length(x) is #x
	boundsIntrinsic                   // bounds(initial, limit, step) is its arguments as numbers; the last may be absent
	initialIntrinsic                  // initial(x), limit(x) and step(x) are x as a number
	limitIntrinsic
	stepIntrinsic
	intrinsicCount
)

// intrinsicCall is a call whose target has no name yet.
type intrinsicCall struct {
	callee intrinsic
	target *ast.StringExpr
}

// callIntrinsic returns a call of an intrinsic. Its target is a string literal,
// which takes an entry in the table of constants.
func (r *rewriter) callIntrinsic(callee intrinsic, origin ast.PositionHolder, args ...ast.Expr) *ast.FuncCallExpr {
	target := positioned(&ast.StringExpr{}, origin)
	r.intrinsicCalls = append(r.intrinsicCalls, intrinsicCall{callee, target})
	r.constant(constant{value: intrinsicNames[callee]})
	return positioned(&ast.FuncCallExpr{Func: target, Args: args, AdjustRet: true}, origin)
}

var intrinsicNames = [intrinsicCount]string{
	concatIntrinsic:  "(concat)",
	extendIntrinsic:  "(extend)",
	lengthIntrinsic:  "(length)",
	boundsIntrinsic:  "(bounds)",
	initialIntrinsic: "(initial)",
	limitIntrinsic:   "(limit)",
	stepIntrinsic:    "(step)",
}

// reserve keeps a literal of the script from becoming the name of an intrinsic.
func (r *rewriter) reserve(literal string) {
	if !strings.HasPrefix(literal, "(") {
		return
	}
	if r.reserved == nil {
		r.reserved = map[string]bool{}
	}
	r.reserved[literal] = true
}

// nameIntrinsics names the targets of all calls by strings that are no literal
// of the script, and returns the function that the patcher puts in the place of
// each. The literals of the whole chunk must have been reserved.
func (r *rewriter) nameIntrinsics(in *intrinsics) map[lua.LValue]*lua.LFunction {
	if len(r.intrinsicCalls) == 0 {
		return nil
	}
	names := intrinsicNames
	functions := map[lua.LValue]*lua.LFunction{}
	for callee := range names {
		for r.reserved[names[callee]] {
			names[callee] += ")"
		}
		functions[lua.LString(names[callee])] = in.functions[callee]
	}
	for _, c := range r.intrinsicCalls {
		c.target.Value = names[c.callee]
	}
	return functions
}

// intrinsics holds the functions, which all states share: they have neither
// upvalues nor an environment.
type intrinsics struct {
	functions [intrinsicCount]*lua.LFunction
	charge    func(L *lua.LState, bytes int64)
	number    func(float64) string
	length    func(*lua.LTable) int
	joinLong  func(L *lua.LState, texts []string, size int) string
}

func newIntrinsics(limits Limits) *intrinsics {
	in := &intrinsics{charge: limits.Charge, number: limits.Number, length: limits.Length, joinLong: limits.Join}
	concat := func(L *lua.LState) int {
		L.Push(in.concat(L))
		return 1
	}
	in.functions = [intrinsicCount]*lua.LFunction{
		concatIntrinsic:  {IsG: true, GFunction: concat},
		extendIntrinsic:  {IsG: true, GFunction: extend},
		lengthIntrinsic:  {IsG: true, GFunction: in.lengthOf},
		boundsIntrinsic:  {IsG: true, GFunction: allBounds},
		initialIntrinsic: {IsG: true, GFunction: func(L *lua.LState) int { return bound(L, initialValue) }},
		limitIntrinsic:   {IsG: true, GFunction: func(L *lua.LState) int { return bound(L, limitValue) }},
		stepIntrinsic:    {IsG: true, GFunction: func(L *lua.LState) int { return bound(L, stepValue) }},
	}
	return in
}

// concat is a .. b .. c of its arguments, metamethods included. The size of each
// string is charged before it is made.
func (in *intrinsics) concat(L *lua.LState) lua.LValue {
	n := L.GetTop()
	if joined, ok := in.join(L, 1, n, ""); ok {
		return joined
	}
	result := L.Get(n)
	for n--; n > 0; {
		left := L.Get(n)
		last, ok := in.text(result)
		if _, fits := in.text(left); !ok || !fits {
			result = concatMeta(L, left, result)
			n--
			continue
		}
		first := n // of the operands that can be joined at once
		for first > 1 && lua.LVCanConvToString(L.Get(first-1)) {
			first--
		}
		result, _ = in.join(L, first, n, last)
		n = first - 1
	}
	return result
}

const (
	// joinedOnStack is how many operands are joined without a slice on the heap.
	joinedOnStack = 8
	// longMin is the size in bytes above which [Limits.Join] makes a string.
	longMin = 256 << 10
)

// join joins the arguments from first up to last, and tail. It does nothing if
// one of them is neither a string nor a number.
func (in *intrinsics) join(L *lua.LState, first, last int, tail string) (joined lua.LValue, ok bool) {
	var few [joinedOnStack]string
	texts := few[:0]
	size := int64(len(tail))
	for i := first; i <= last; i++ {
		text, ok := in.text(L.Get(i))
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
		size += int64(len(text))
	}
	in.charge(L, size)
	switch {
	case size > longMin:
		return lua.LString(in.joinLong(L, slices.Concat(texts, []string{tail}), int(size))), true // few stays on the stack
	case len(texts) == 2 && tail == "":
		return lua.LString(texts[0] + texts[1]), true
	}
	return lua.LString(strings.Join(append(texts, tail), "")), true
}

// text returns a string, or a number as a concatenation writes it.
func (in *intrinsics) text(v lua.LValue) (text string, ok bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return in.number(float64(v)), true
	}
	return "", false
}

// concatMeta returns left..right by metamethod. Without one it raises the
// interpreter's error.
func concatMeta(L *lua.LState, left, right lua.LValue) lua.LValue {
	method := L.GetMetaField(left, "__concat")
	if method == lua.LNil {
		method = L.GetMetaField(right, "__concat")
	}
	if method.Type() != lua.LTFunction {
		L.RaiseError("cannot perform concat operation between %v and %v", left.Type(), right.Type())
	}
	L.Push(method)
	L.Push(left)
	L.Push(right)
	L.Call(2, 1)
	result := L.Get(-1)
	L.Pop(1)
	return result
}

// extend stores its third and further arguments in the table that is its first,
// behind the number of items that is its second.
func extend(L *lua.LState) int {
	t, items := L.CheckTable(1), L.CheckInt(2)
	for i := 3; i <= L.GetTop(); i++ {
		t.RawSetInt(items+i-2, L.Get(i))
	}
	L.Push(t)
	return 1
}
