package compile

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// hookKind is one of the Go functions that compiled code calls unseen.
type hookKind int

const (
	concatHook hookKind = iota // concat(a, b, ...) is a..b.. ...
	extendHook                 // extend(t, n, ...) stores ... at t[n+1] and up and is t
	hookKinds
)

// hook is a call of a hidden function whose target has no name yet.
type hook struct {
	kind   hookKind
	target *ast.StringExpr
}

// hook returns a call of a hidden function. Its target is a string literal,
// which takes a slot in the table of constants.
func (r *rewriter) hook(kind hookKind, origin ast.PositionHolder, args ...ast.Expr) ast.Expr {
	target := placed(&ast.StringExpr{}, origin)
	r.hooks = append(r.hooks, hook{kind, target})
	r.constant(constant{value: hookNames[kind]})
	return placed(&ast.FuncCallExpr{Func: target, Args: args, AdjustRet: true}, origin)
}

var hookNames = [hookKinds]string{concatHook: "(concat)", extendHook: "(extend)"}

// reserve keeps a literal of the script from being taken for one of ours.
func (r *rewriter) reserve(literal string) {
	if !strings.HasPrefix(literal, "(") {
		return
	}
	if r.reserved == nil {
		r.reserved = map[string]bool{}
	}
	r.reserved[literal] = true
}

// hidden names the targets of all hooks by strings that are no literal of the
// script and returns what the finisher has to put in their place. The literals
// of the whole chunk must have been seen.
func (r *rewriter) hidden(h *hiddenFunctions) map[lua.LValue]*lua.LFunction {
	if len(r.hooks) == 0 {
		return nil
	}
	names := hookNames
	replace := map[lua.LValue]*lua.LFunction{}
	for kind := range names {
		for r.reserved[names[kind]] {
			names[kind] += ")"
		}
		replace[lua.LString(names[kind])] = h.functions[kind]
	}
	for _, h := range r.hooks {
		h.target.Value = names[h.kind]
	}
	return replace
}

// hiddenFunctions are shared by all states: they have neither upvalues nor an
// environment.
type hiddenFunctions struct {
	functions [hookKinds]*lua.LFunction
	charge    func(L *lua.LState, bytes int64)
	number    func(float64) string
	long      func(L *lua.LState, texts []string, size int) string
}

func newHiddenFunctions(limits Limits) *hiddenFunctions {
	h := &hiddenFunctions{charge: limits.Charge, number: limits.Number, long: limits.Join}
	concat := func(L *lua.LState) int {
		L.Push(h.concat(L))
		return 1
	}
	h.functions = [hookKinds]*lua.LFunction{
		concatHook: {IsG: true, GFunction: concat},
		extendHook: {IsG: true, GFunction: extend},
	}
	return h
}

// concat is a .. b .. c of its arguments, metamethods included. The size of each
// string is charged before it is made.
func (h *hiddenFunctions) concat(L *lua.LState) lua.LValue {
	n := L.GetTop()
	if joined, ok := h.join(L, 1, n, ""); ok {
		return joined
	}
	result := L.Get(n)
	for n--; n > 0; {
		left := L.Get(n)
		last, ok := h.text(result)
		if _, fits := h.text(left); !ok || !fits {
			result = concatMeta(L, left, result)
			n--
			continue
		}
		first := n // of the operands that can be joined at once
		for first > 1 && lua.LVCanConvToString(L.Get(first-1)) {
			first--
		}
		result, _ = h.join(L, first, n, last)
		n = first - 1
	}
	return result
}

const (
	// joinedAtOnce is how many operands are joined without a slice made for them.
	joinedAtOnce = 8
	// longMin is the size of a string above which [Limits.Join] makes it.
	longMin = 256 << 10
)

// join joins the arguments from first up to last, and tail. It does nothing if
// one of them is neither a string nor a number.
func (h *hiddenFunctions) join(L *lua.LState, first, last int, tail string) (joined lua.LValue, ok bool) {
	var few [joinedAtOnce]string
	texts := few[:0]
	size := int64(len(tail))
	for i := first; i <= last; i++ {
		text, ok := h.text(L.Get(i))
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
		size += int64(len(text))
	}
	h.charge(L, size)
	switch {
	case size > longMin:
		return lua.LString(h.long(L, slices.Concat(texts, []string{tail}), int(size))), true // few stays on the stack
	case len(texts) == 2 && tail == "":
		return lua.LString(texts[0] + texts[1]), true
	}
	return lua.LString(strings.Join(append(texts, tail), "")), true
}

// text returns what a value is in a concatenation.
func (h *hiddenFunctions) text(v lua.LValue) (text string, ok bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return h.number(float64(v)), true
	}
	return "", false
}

// concatMeta is left..right by metamethod, in the VM's words if there is none.
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
