package vm

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/numeral"
)

// operations maps operations to the words of Lua 5.1's errors about them.
const (
	opCall   = "call"
	opIndex  = "index"
	opArith  = "perform arithmetic on"
	opConcat = "concatenate"
	opLength = "get length of"
)

// explain returns the error that an instruction has raised on L in the words of Lua
// 5.1, with the name of the value that caused it. Other texts are returned unchanged.
func explain(L *lua.LState, text string) string {
	f := currentFrame(L)
	if !f.isLua() && !mayBeInstruction(text) {
		return text
	}
	in := f // the Lua function whose instruction has failed
	for in != nil && !in.isLua() {
		in = in.Parent
	}
	if in == nil {
		return text
	}
	s := siteOf(L, in)
	position := s.proto().SourceName + ":" + strconv.Itoa(lineOf(s.proto(), s.pc)) + ": "
	what, ok := strings.CutPrefix(text, position)
	if !ok {
		return text
	}
	if f != in && (f.Parent != in || !s.callsHidden()) {
		// Raised by a function that the script has called.
		if f.Parent == in && strings.HasPrefix(what, badArgument) {
			return text + s.argumentHint(what)
		}
		return position + reworded(what)
	}
	return position + s.explain(what)
}

const badArgument = "bad argument #"

// argumentHint names the argument that a library function has refused, if it is
// nil.
func (s site) argumentHint(what string) string {
	inst := s.inst()
	number, _, _ := strings.Cut(what[len(badArgument):], " ")
	n, err := strconv.Atoi(number)
	if op := opcodeOf(inst); op != lua.OP_CALL && op != lua.OP_TAILCALL || err != nil || n < 1 || !strings.HasSuffix(what, "got nil)") {
		return ""
	}
	if pc, ok := lastChange(s.proto(), operandA(inst), s.pc); !ok || opcodeOf(s.proto().Code[pc]) == lua.OP_SELF {
		return "" // functions count the arguments of methods in two ways
	}
	if v := s.variable(operandA(inst) + n); v.kind != "" && v.name != "?" {
		return ": " + v.String() + " is nil"
	}
	return ""
}

// mayBeInstruction reports whether a text may be that of an instruction.
func mayBeInstruction(text string) bool {
	for _, words := range [...]string{"attempt to ", "bad argument #", "cannot perform ", "for statement ", " undefined", "too many recursions", "registry overflow"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// reworded returns texts of gopher-lua in the words of Lua 5.1, without a name.
func reworded(what string) string {
	switch what {
	case "attempt to call a non-function object":
		return "attempt to call a value that is no function"
	case "for statement init must be a number":
		return "'for' initial value must be a number"
	case "for statement limit must be a number":
		return "'for' limit must be a number"
	case "for statement step must be a number":
		return "'for' step must be a number"
	case "too many recursions in gettable":
		return "loop in gettable"
	case "too many recursions in settable":
		return "loop in settable"
	case "registry overflow":
		return "stack overflow (too many arguments, results or local variables at once)"
	}
	if typ, ok := indexedType(what); ok {
		return "attempt to index a " + typ + " value"
	}
	return what
}

// indexedType returns the type in gopher-lua's text for an index of a value that
// has no fields.
func indexedType(what string) (typ string, ok bool) {
	rest, ok := strings.CutPrefix(what, "attempt to index a non-table object(")
	if !ok {
		return "", false
	}
	typ, _, ok = strings.Cut(rest, ")")
	return typ, ok
}

// callsHidden reports whether the instruction at s calls a function that the script
// doesn't call: an intrinsic, or a metamethod.
func (s site) callsHidden() bool {
	inst := s.inst()
	if op := opcodeOf(inst); op != lua.OP_CALL && op != lua.OP_TAILCALL {
		return op != lua.OP_TFORLOOP
	}
	pc, ok := lastChange(s.proto(), operandA(inst), s.pc)
	if !ok || opcodeOf(s.proto().Code[pc]) != lua.OP_LOADK {
		return false
	}
	k := operandBx(s.proto().Code[pc])
	_, ok = s.proto().Constants[k].(*lua.LFunction)
	return ok
}

// operand is a value that an instruction works on.
type operand struct {
	register int // -1 for a constant
	value    lua.LValue
}

func (s site) operand(o int) operand {
	if o&isConstant != 0 {
		return operand{-1, s.proto().Constants[o&^isConstant]}
	}
	return operand{o, s.frame.register(s.L, o)}
}

// explain words what the instruction at s has failed with.
func (s site) explain(what string) string {
	switch {
	case what == "attempt to call a non-function object", strings.HasPrefix(what, "attempt to call a "):
		return s.explainCall(what)
	case strings.HasPrefix(what, "attempt to index a "):
		return s.explainIndex(what)
	case strings.HasPrefix(what, "cannot perform concat "), strings.HasPrefix(what, "attempt to concatenate "):
		return s.explainConcat(what)
	case strings.HasPrefix(what, "cannot perform "), what == "__unm undefined", strings.HasPrefix(what, "attempt to perform arithmetic on a "):
		return s.explainArithmetic(what)
	case what == "__len undefined", strings.HasPrefix(what, "attempt to get length of a "):
		return s.explainLength(what)
	case strings.HasPrefix(what, "attempt to compare "):
		return s.explainComparison(what)
	case strings.HasPrefix(what, "for statement "):
		return reworded(what) + s.loopHint(what)
	}
	return reworded(what)
}

// loopHint names the bound of a numeric loop that is no number.
func (s site) loopHint(what string) string {
	first := 0
	switch op := opcodeOf(s.inst()); {
	case op == lua.OP_FORPREP:
		first = operandA(s.inst())
	case op == lua.OP_CALL && len(s.arguments()) > 0: // of one of the compiler's functions, with one bound or with all
		if args := s.arguments(); len(args) == 1 {
			return s.named(args[0])
		}
		first = operandA(s.inst()) + 1
	default:
		return ""
	}
	for i, bound := range [...]string{"init", "limit", "step"} {
		if strings.HasPrefix(what, "for statement "+bound) {
			return s.named(s.operand(first + i))
		}
	}
	return ""
}

// blame returns Lua's error for an operation on a value.
func (s site) blame(operation string, o operand) string {
	if o.register >= 0 {
		if v := s.variable(o.register); v.kind != "" {
			return "attempt to " + operation + " " + v.String() + " (a " + kindOf(o.value) + " value)" + s.hint(operation, v, o)
		}
	}
	return "attempt to " + operation + " a " + kindOf(o.value) + " value" + s.valueHint(operation, o)
}

func (s site) explainCall(what string) string {
	inst := s.inst()
	switch opcodeOf(inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
		o := s.operand(operandA(inst))
		if o.value.Type() != lua.LTFunction {
			return s.blame(opCall, o)
		}
	case lua.OP_TFORLOOP:
		return s.explainIterator(s.operand(operandA(inst)))
	}
	return reworded(what)
}

// explainIterator words the error of a loop over a value that is no iterator.
func (s site) explainIterator(o operand) string {
	text := "attempt to call a " + kindOf(o.value) + " value"
	name := "..."
	v := s.variable(o.register)
	if v.kind != "" {
		text = fmt.Sprintf("attempt to call %s (a %s value)", v, kindOf(o.value))
		if v.name != "?" {
			name = v.name
		}
	}
	if o.value.Type() == lua.LTTable {
		return text + ": a loop over a table is 'in pairs(" + name + ")' or 'in ipairs(" + name + ")'"
	}
	return text + ": 'in' takes an iterator, such as pairs(t)"
}

func (s site) explainIndex(what string) string {
	inst := s.inst()
	object := -1
	switch opcodeOf(inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		object = operandB(inst)
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		object = operandA(inst)
	default:
		return reworded(what)
	}
	o := s.operand(object)
	if typ, ok := indexedType(what); ok && typ != o.value.Type().String() {
		return reworded(what) // not the object, but what its __index leads to
	}
	return s.blame(opIndex, o)
}

func (s site) explainArithmetic(what string) string {
	inst := s.inst()
	switch op := opcodeOf(inst); {
	case op == lua.OP_UNM:
		return s.blame(opArith, s.operand(operandB(inst)))
	case lua.OP_ADD <= op && op <= lua.OP_POW:
		o := s.operand(operandB(inst))
		if isNumeric(o.value) {
			o = s.operand(operandC(inst))
		}
		return s.blame(opArith, o)
	case op == lua.OP_CALL || op == lua.OP_TAILCALL:
		for _, o := range s.arguments() {
			if !isNumeric(o.value) {
				return s.blame(opArith, o)
			}
		}
	}
	return reworded(what)
}

func (s site) explainLength(what string) string {
	inst := s.inst()
	switch opcodeOf(inst) {
	case lua.OP_LEN:
		return s.blame(opLength, s.operand(operandB(inst)))
	case lua.OP_CALL, lua.OP_TAILCALL:
		if args := s.arguments(); len(args) > 0 {
			return s.blame(opLength, args[0])
		}
	}
	return reworded(what)
}

// explainConcat blames the operand that is met first: they are joined from the
// last to the first.
func (s site) explainConcat(what string) string {
	args := s.arguments()
	joins := func(o operand) bool { return lua.LVCanConvToString(o.value) || hasMethod(o.value, "__concat") }
	for i := len(args) - 2; i >= 0; i-- {
		if hasMethod(args[i].value, "__concat") || i == len(args)-2 && hasMethod(args[i+1].value, "__concat") {
			continue
		}
		if !joins(args[i]) {
			return s.blame(opConcat, args[i])
		}
		if i == len(args)-2 && !joins(args[i+1]) {
			return s.blame(opConcat, args[i+1])
		}
	}
	return reworded(what)
}

func hasMethod(v lua.LValue, event string) bool {
	var meta lua.LValue
	switch v := v.(type) {
	case *lua.LTable:
		meta = v.Metatable
	case *lua.LUserData:
		meta = v.Metatable
	}
	t, ok := meta.(*lua.LTable)
	return ok && t.RawGetString(event) != lua.LNil
}

// arguments returns the arguments of a call of an intrinsic.
func (s site) arguments() []operand {
	inst := s.inst()
	n := operandB(inst) - 1
	if op := opcodeOf(inst); op != lua.OP_CALL && op != lua.OP_TAILCALL || n < 0 {
		return nil
	}
	args := make([]operand, n)
	for i := range args {
		args[i] = s.operand(operandA(inst) + 1 + i)
	}
	return args
}

func (s site) explainComparison(what string) string {
	inst := s.inst()
	if op := opcodeOf(inst); op != lua.OP_LT && op != lua.OP_LE {
		return what
	}
	left, right := s.operand(operandB(inst)), s.operand(operandC(inst))
	a, b := kindOf(left.value), kindOf(right.value)
	text := fmt.Sprintf("attempt to compare %s with %s", a, b)
	if a == b {
		text = fmt.Sprintf("attempt to compare two %s values", a)
	}
	if lua.LVCanConvToString(left.value) && lua.LVCanConvToString(right.value) { // a number and a string
		if left.value.Type() == lua.LTNumber {
			return text + s.named(right)
		}
		return text + s.named(left)
	}
	var wrong []operand
	for _, o := range []operand{left, right} {
		if !lua.LVCanConvToString(o.value) {
			wrong = append(wrong, o)
		}
	}
	return text + s.named(wrong...)
}

// named returns the names of the operands that caused an error, in parentheses.
func (s site) named(operands ...operand) string {
	var names []string
	for _, o := range operands {
		if o.register < 0 {
			continue
		}
		if v := s.variable(o.register); v.kind != "" {
			names = append(names, fmt.Sprintf("%s is a %s value", v, kindOf(o.value)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// kindOf names the type of a value in Lua's words, and that of a handle and of
// null by its own name.
func kindOf(v lua.LValue) string {
	if u, ok := v.(*lua.LUserData); ok {
		if meta, ok := u.Metatable.(*lua.LTable); ok {
			if name, ok := meta.RawGetString("__metatable").(lua.LString); ok {
				return string(name)
			}
		}
	}
	return v.Type().String()
}

// isNumeric reports whether arithmetic takes a value: a number or a numeral.
func isNumeric(v lua.LValue) bool {
	switch v := v.(type) {
	case lua.LNumber:
		return true
	case lua.LString:
		_, ok := numeral.Parse(string(v))
		return ok
	}
	return false
}
