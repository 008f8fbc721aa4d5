package compile

import (
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
func (r *rewriter) hidden(functions hiddenFunctions) map[lua.LValue]*lua.LFunction {
	if len(r.hooks) == 0 {
		return nil
	}
	names := hookNames
	replace := map[lua.LValue]*lua.LFunction{}
	for kind := range names {
		for r.reserved[names[kind]] {
			names[kind] += ")"
		}
		replace[lua.LString(names[kind])] = functions[kind]
	}
	for _, h := range r.hooks {
		h.target.Value = names[h.kind]
	}
	return replace
}

// hiddenFunctions are shared by all states: they have neither upvalues nor an
// environment.
type hiddenFunctions [hookKinds]*lua.LFunction

func newHiddenFunctions(charge func(L *lua.LState, bytes int64)) hiddenFunctions {
	concat := func(L *lua.LState) int {
		L.Push(concat(L, charge))
		return 1
	}
	return hiddenFunctions{
		concatHook: {IsG: true, GFunction: concat},
		extendHook: {IsG: true, GFunction: extend},
	}
}

// concat joins its arguments from the right as the VM does, metamethods
// included, and has each string's size charged before it is made.
func concat(L *lua.LState, charge func(*lua.LState, int64)) lua.LValue {
	i := L.GetTop()
	result := L.Get(i)
	for i--; i > 0; {
		if left := L.Get(i); !lua.LVCanConvToString(left) || !lua.LVCanConvToString(result) {
			result = concatMeta(L, left, result)
			i--
			continue
		}
		first := i // of the operands that can be joined at once
		for first > 1 && lua.LVCanConvToString(L.Get(first-1)) {
			first--
		}
		parts := make([]string, 0, i-first+2)
		size := int64(0)
		for ; first <= i; first++ {
			parts = append(parts, lua.LVAsString(L.Get(first)))
		}
		i -= len(parts)
		parts = append(parts, lua.LVAsString(result))
		for _, p := range parts {
			size += int64(len(p))
		}
		charge(L, size)
		result = lua.LString(strings.Join(parts, ""))
	}
	return result
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
