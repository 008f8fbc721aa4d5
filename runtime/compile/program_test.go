package compile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// program writes a random Lua program, the same one for the same seed. Programs
// report what they compute through emit; burn ends those that loop for too long.
// They avoid what Lua leaves open and how libraries print numbers, so two Lua
// implementations must agree on every emitted value.
func program(seed uint64, jumps bool) string {
	g := &generator{random: rand.New(rand.NewPCG(seed, 0x7469646c)), room: 40, jumps: jumps}
	g.line("local n1, n2, v1, v2 = 1, 2, nil, true")
	g.line("local t1, fs = {x = 1, 5, 6}, {}")
	if g.chance(10) { // later constants don't fit into an operand
		g.line("do local t = {%s} emit(#t) end", g.integers(1000, 1000+240+g.n(40)))
	}
	g.push()
	g.numbers = []string{"n1", "n2"}
	g.values = []string{"v1", "v2"}
	g.tables = []string{"t1"}
	for range 4 + g.n(6) {
		g.statement(0)
	}
	g.line("emit(%s)", strings.Join(append(append([]string{}, g.numbers...), g.values...), ", "))
	g.line("for _, f in ipairs(fs) do emit(f(1, 2)) end")
	g.line("emit(t1.x, t1.y, t1[1], t1[2], t1[3], g1, g2)")
	return g.text.String()
}

type generator struct {
	random *rand.Rand
	text   strings.Builder
	indent int
	room   int // statements that may still be made
	names  int
	loops  int  // around the statement, in its function
	jumps  bool // goto may be used
	inFunc int
	saved  []variables
	variables
}

// variables in scope, by what they hold: numbers, anything, tables of numbers.
type variables struct {
	numbers, values, tables, functions []string
}

func (g *generator) n(n int) int             { return g.random.IntN(n) }
func (g *generator) chance(n int) bool       { return g.n(n) == 0 }
func (g *generator) pick(s ...string) string { return s[g.n(len(s))] }
func (g *generator) push()                   { g.saved = append(g.saved, g.variables) }
func (g *generator) pop() {
	g.variables = g.saved[len(g.saved)-1]
	g.saved = g.saved[:len(g.saved)-1]
}

func (g *generator) line(format string, args ...any) {
	g.text.WriteString(strings.Repeat(" ", g.indent))
	fmt.Fprintf(&g.text, format, args...)
	g.text.WriteByte('\n')
}

func (g *generator) name(prefix string, known *[]string) string {
	g.names++
	name := fmt.Sprintf("%s_%d", prefix, g.names)
	if g.chance(8) && len(*known) > 0 { // shadow something
		return g.pick(*known...)
	}
	*known = append((*known)[:len(*known):len(*known)], name)
	return name
}

// block writes statements in their own scope; tail may end them with a jump.
func (g *generator) block(depth int, tail bool) {
	g.push()
	g.indent++
	if g.jumps && tail && g.chance(3) { // out of nested blocks, over locals, to the end
		g.names++
		label := fmt.Sprintf("next_%d", g.names)
		g.push()
		g.line("do")
		g.statement(depth + 1)
		g.line("if %s then goto %s end", g.value(2), label)
		g.statement(depth + 1)
		g.line("local u = %s", g.value(1))
		g.line("if u then do goto %s end end", label)
		g.statement(depth + 1)
		g.line("::%s:: end", label)
		g.pop()
	}
	for range g.n(4) {
		g.statement(depth + 1)
	}
	if tail && g.chance(3) {
		g.jump()
	}
	g.indent--
	g.pop()
}

func (g *generator) jump() {
	switch {
	case g.loops > 0 && g.chance(2):
		g.line("%s", g.pick("do break end", "if "+g.value(1)+" then break end"))
	case g.inFunc > 0 && g.chance(3):
		g.line("do return %s end", g.list(3))
	case g.inFunc > 0:
		g.line("do return %s end", g.number(2))
	}
}

func (g *generator) statement(depth int) {
	if g.room--; g.room < 0 || depth > 4 {
		g.line("emit(%s)", g.value(2))
		return
	}
	if g.jumps && g.chance(4) {
		g.again(depth)
		return
	}
	switch g.n(25) {
	case 23:
		g.visit()
	case 24:
		if g.chance(200) {
			g.long()
		} else {
			g.visit()
		}
	case 20:
		g.method(depth)
	case 0, 1:
		g.local()
	case 2, 3, 4:
		g.assignment()
	case 5, 6, 7:
		g.multiple()
	case 8:
		g.line("%s.%s = %s", g.table(), g.pick("x", "y"), g.number(3))
	case 9:
		g.line("%s = %s", g.element(), g.item(2))
	case 10, 11:
		g.conditional(depth)
	case 12, 13, 14:
		g.loop(depth)
	case 15, 16:
		g.closure(depth)
	case 17:
		g.line("do")
		g.block(depth, true)
		g.line("end")
	case 18:
		g.line("local %s = %s", g.name("v", &g.values), g.chain())
	case 19:
		g.line("%s", g.constructor())
	default:
		g.line("emit(%s)", g.list(3))
	}
}

func (g *generator) local() {
	switch g.n(5) {
	case 0:
		value := g.number(3)
		g.line("local %s = %s", g.name("n", &g.numbers), value)
	case 1:
		value := g.value(3)
		g.line("local %s = %s", g.name("v", &g.values), value)
	case 2:
		value := g.list(3)
		a, b := g.name("v", &g.values), g.name("v", &g.values)
		g.line("local %s, %s = %s", a, b, value)
	case 3:
		value := g.number(2)
		a, b := g.name("n", &g.numbers), g.name("n", &g.numbers)
		g.line("local %s, %s = two(%s)", a, b, value)
	case 4:
		value := fmt.Sprintf("{x = %s, %s, id(%s)}", g.number(2), g.item(2), g.item(1))
		g.line("local %s = %s", g.name("t", &g.tables), value)
	}
}

func (g *generator) assignment() {
	switch g.n(5) {
	case 0, 1:
		g.line("%s = %s", g.pick(g.numbers...), g.number(3))
	case 2, 3:
		g.line("%s = %s", g.pick(g.values...), g.value(4))
	case 4:
		g.line("%s = %s", g.pick("g1", "g2"), g.value(3))
	}
}

// multiple writes an assignment with several sides. Numbers stay numbers.
func (g *generator) multiple() {
	var targets, values []string
	for range 2 + g.n(2) {
		switch g.n(6) {
		case 0, 1, 2:
			targets, values = append(targets, g.pick(g.numbers...)), append(values, g.number(2))
		case 3:
			targets, values = append(targets, g.pick(append(g.values, "g1")...)), append(values, g.value(2))
		case 4:
			targets = append(targets, g.table()+"."+g.pick("x", "y"))
			values = append(values, g.number(2))
		case 5:
			targets = append(targets, g.element())
			values = append(values, g.item(2))
		}
	}
	if g.chance(4) { // one call for the last two
		values = append(values[:len(values)-2], fmt.Sprintf("two(%s)", g.number(2)))
	} else if g.chance(8) {
		values = append(values, g.value(2))
	}
	g.line("%s = %s", strings.Join(targets, ", "), strings.Join(values, ", "))
}

func (g *generator) conditional(depth int) {
	g.line("if %s then", g.value(3))
	g.block(depth, true)
	for g.chance(3) {
		g.line("elseif %s then", g.value(3))
		g.block(depth, true)
	}
	if g.chance(2) {
		g.line("else")
		g.block(depth, true)
	}
	g.line("end")
}

func (g *generator) loop(depth int) {
	g.loops++
	g.push()
	end := "end"
	switch g.n(7) {
	case 0:
		g.line("while %s do", g.value(3))
	case 1:
		g.line("while %s do", g.pick("true", "not false", "1", "true and not nil"))
	case 2, 3:
		from, to := g.pick(g.number(1), g.number(1), g.number(1), "'1'", "' 0x2 '"), g.pick("3", "-1", g.number(1), "'3'", "(id("+g.pick("'3'", "2")+"))", "#"+g.table())
		g.line("for %s = %s, %s, %s do", g.name("n", &g.numbers), from, to, g.pick("1", "-1", "2", "'1'"))
	case 4:
		g.line("for _, %s in ipairs(%s) do", g.name("n", &g.numbers), g.table())
	case 5:
		to := g.number(1)
		g.line("for %s in count(%s) do", g.name("n", &g.numbers), to)
	case 6:
		g.line("repeat")
		end = "until " + g.value(3)
	}
	if g.chance(2) {
		g.line(" if burn() then end")
	}
	g.block(depth, true)
	if g.chance(2) || end == "end" {
		g.line(" burn()")
	}
	if end != "end" { // the condition may see the body's locals
		g.indent++
		g.line("local u = %s", g.value(2))
		g.line("burn()")
		g.indent--
		end = g.pick(end, end, "until u", "until not u")
	}
	g.line("%s", end)
	g.pop()
	g.loops--
}

// again writes a block that goto repeats, or leaves from somewhere in it.
func (g *generator) again(depth int) {
	g.names++
	top, out := fmt.Sprintf("top_%d", g.names), fmt.Sprintf("out_%d", g.names)
	g.line("do")
	g.line(" local left = %d", g.n(4))
	g.line(" ::%s::", top)
	g.line(" burn()")
	g.line(" do")
	g.block(depth, false)
	g.line("  if %s then goto %s end", g.value(2), out)
	g.block(depth, false)
	g.line(" end")
	g.line(" left = left - 1")
	g.line(" if left > 0 then goto %s end", top)
	g.line(" ::%s::", out)
	g.line("end")
}

// visit writes a loop over a table, in any form that Lua takes. What it emits
// doesn't depend on the order.
func (g *generator) visit() {
	t := g.table()
	names := g.pick("k", "k, v", "k, v, w", "k, v, w, x")
	iterator := g.pick("next, T", "next, T", "pairs(T)", "next, T, nil", "next, (id(T))", "next, id(T)", "id(next, T)",
		"id(next, T, nil)", "next, T, none()", "next, T, nil, tr(1)", "next, id(T), nil", "ipairs(T)", "count(2)", "count(2), none()",
		"count(3), nil", "(id(pairs(T)))", "(id(next)), T", "o.next, T", "true and next, T", "nil or next, T, (none())", "next, {1, 2, x = 3}")
	if strings.Contains(iterator, "(id(pairs") {
		iterator = "count(1)"
	}
	g.line("do local n, s, it = 0, 0, count(2)")
	g.line(" for %s in %s do n = n + 1 if n > 50 then break end end", names, g.pick("it", strings.ReplaceAll(iterator, "T", t)))
	g.line(" for %s in %s do n = n + 1 end", names, g.pick("it", "count(2)"))
	g.line(" for k, v in %s do s = s + (v or 0) end", strings.ReplaceAll(g.pick("next, T", "next, id(T)", "pairs(T)"), "T", t))
	g.line(" emit(n, s)")
	g.line("end")
}

// long writes work on a list whose end is near the largest index of an array.
func (g *generator) long() {
	g.line("do local t = long(%d)", 1048570+g.n(12))
	for range 10 {
		g.line(" %s", g.pick("t[#t + 1] = 1", "t[#t + 1] = 2", "t[#t + 1] = 3", "t[#t] = nil", "t[#t] = nil", "emit(#t, t[#t])", "emit(t[1048575], t[1048576], t[1048577])"))
	}
	g.line(" emit(#t, t[#t], t[#t + 1])")
	g.line("end")
}

func (g *generator) closure(depth int) {
	loops := g.loops
	g.loops = 0
	g.push()
	g.inFunc++
	p, q := fmt.Sprintf("p%d", g.names), fmt.Sprintf("q%d", g.names)
	g.names++
	name := fmt.Sprintf("f_%d", g.names)
	if len(g.functions) > 0 && g.chance(4) {
		name = g.pick(g.functions...) // which the body may call
	}
	head := g.pick("local function "+name, "local "+name+" = function", "local "+name+" = function")
	params := g.pick(p+", "+q, p+", "+q+", ...", p+", "+q)
	g.line("%s(%s)", head, params)
	g.body(depth, p, q, strings.HasSuffix(params, "..."))
	g.inFunc--
	g.pop()
	g.loops = loops
	g.functions = append(g.functions[:len(g.functions):len(g.functions)], name)
	if g.chance(2) {
		g.line("fs[#fs + 1] = %s", name)
	}
}

// body writes the body of a function with a number p and a value q.
func (g *generator) body(depth int, p, q string, dots bool) {
	g.line(" burn()")
	outer := g.variables
	g.numbers = append(append([]string{}, g.numbers...), p)
	g.values = append(append([]string{}, g.values...), q)
	if dots {
		g.line(" emit(select('#', ...), ...)")
		g.line(" %s = %s", q, g.pick("...", "(...)", "(...) and "+q, "{...} and select('#', ...)"))
	}
	g.block(depth, true)
	g.line(" return %s", g.pick(g.number(2), g.number(2)+", "+q, "(two("+g.number(2)+"))", "two("+g.number(2)+")"))
	g.line("end")
	g.variables = outer
}

// method replaces one of the functions in table o.
func (g *generator) method(depth int) {
	loops := g.loops
	g.loops = 0
	g.inFunc++
	g.line("function o%s(p, q)", g.pick(".plain", ":method"))
	g.body(depth, "p", "q", false)
	g.inFunc--
	g.loops = loops
}

func (g *generator) table() string { return g.pick(g.tables...) }

func (g *generator) element() string {
	key := g.pick("1", "2", "#"+g.table()+" % 3 + 1", "key("+g.pick(g.numbers...)+")")
	return g.table() + "[" + key + "]"
}

// item writes an expression whose value isn't nil: a list with holes has several
// lengths.
func (g *generator) item(depth int) string { return "((" + g.number(depth) + ") or 4)" }

// number writes an expression whose value is a number, or what a function gives
// that the program defines.
func (g *generator) number(depth int) string {
	if depth <= 0 || g.chance(3) {
		if g.chance(3) {
			return g.pick("0", "1", "2", "3", "10", "007", "0x1F", "1e2", "0.5", "-3")
		}
		return g.pick(g.numbers...)
	}
	d := depth - 1
	switch g.n(13) {
	case 11:
		return fmt.Sprintf("(%s(%s, %s))", g.pick("o.plain", "o:method"), g.number(d), g.value(d))
	case 0, 1:
		return fmt.Sprintf("%s + %s", g.operandOf(d), g.operandOf(d))
	case 2:
		return fmt.Sprintf("%s - (%s)", g.operandOf(d), g.operandOf(d))
	case 3:
		if g.chance(5) { // of whole numbers, and without the sign of zero: the interpreter's % is C's fmod
			return fmt.Sprintf("(whole(%s) %% %s + 0)", g.number(d), g.pick("2", "3", "-1", "-3", "'2'", "7"))
		}
		return fmt.Sprintf("(%s) %s %s", g.operandOf(d), g.pick("*", "*", "/", "^"), g.pick("2", "3", "-1", "'2'", "0.7"))
	case 4:
		return fmt.Sprintf("-(%s)", g.operandOf(d))
	case 5:
		return fmt.Sprintf("(%s and %s or %s)", g.value(d), g.number(d), g.number(d))
	case 6:
		return fmt.Sprintf("(%s.%s or %s)", g.table(), g.pick("x", "y"), g.number(d))
	case 7:
		return fmt.Sprintf("%s(%s)", g.pick("id", "tr", "(id)"), g.number(d))
	case 8:
		return fmt.Sprintf("(two(%s))", g.number(d))
	case 9:
		return fmt.Sprintf("(two(%s) + %s)", g.number(d), g.number(d))
	case 10:
		return "#" + g.table()
	default:
		if len(g.functions) > 0 {
			return fmt.Sprintf("(%s(%s, %s))", g.pick(g.functions...), g.number(d), g.value(d))
		}
		return fmt.Sprintf("tr(%s)", g.number(d))
	}
}

// operandOf writes an operand of arithmetic: a number or, now and then, a string.
func (g *generator) operandOf(depth int) string {
	if !g.chance(12) {
		return g.number(depth)
	}
	if g.chance(20) {
		if g.jumps {
			return g.pick("'x'", "''", "'1_0'", "'1e'") // LuaJIT takes 0b1
		}
		return g.pick("'x'", "''", "'1_0'", "'0b1'", "'1e'")
	}
	return g.pick("'010'", "'0x1F'", "' 7 '", "'-3'", "'1e1'", "'.5'", "'5.'", "'+2'")
}

// value writes an expression of any kind.
func (g *generator) value(depth int) string {
	if depth <= 0 || g.chance(4) {
		if g.chance(3) {
			return g.pick("nil", "true", "false", "'s'", "''", "0", "g1", "g2", "'\\065\\200'")
		}
		return g.pick(append(g.values, g.numbers...)...)
	}
	d := depth - 1
	switch g.n(14) {
	case 0, 1, 2:
		return fmt.Sprintf("%s and %s", g.operand(d), g.operand(d))
	case 3, 4, 5:
		return fmt.Sprintf("%s or %s", g.operand(d), g.operand(d))
	case 6:
		return "not " + g.operand(d)
	case 7:
		return fmt.Sprintf("(%s) %s (%s)", g.number(d), g.pick("<", "<=", ">", ">="), g.number(d))
	case 8:
		return fmt.Sprintf("(%s) %s (%s)", g.value(d), g.pick("==", "~="), g.value(d))
	case 9:
		return fmt.Sprintf("%s(%s)", g.pick("id", "tr", "two", "(id)"), g.value(d))
	case 10:
		return g.pick("(none())", "(two("+g.value(d)+"))", "(id("+g.list(2)+"))")
	case 11:
		return g.chain()
	case 12:
		return g.element()
	default:
		return g.number(d)
	}
}

// operand writes a value that may stand in an and/or without changing how the
// expression around it is read.
func (g *generator) operand(depth int) string { return "(" + g.value(depth) + ")" }

// list writes up to n expressions; the last may have several values or none.
func (g *generator) list(n int) string {
	var list []string
	for range 1 + g.n(n) {
		list = append(list, g.value(2))
	}
	if g.chance(4) {
		list = append(list, g.pick("two("+g.value(1)+")", "none()", "id("+g.value(1)+", "+g.value(1)+")"))
	}
	return strings.Join(list, ", ")
}

// chain writes a concatenation.
func (g *generator) chain() string {
	operands := []string{"''"}
	for range 1 + g.n(12) {
		operands = append(operands, g.pick("'a'", "'b'", "1", "tr('c')", "('d' .. 'e')", "two('f')"))
	}
	return "(" + strings.Join(operands, " .. ") + ")"
}

// constructor writes a statement with a table that is stored in batches.
func (g *generator) constructor() string {
	items := []string{}
	for i := range 47 + g.n(60)*g.n(2) + g.n(8) {
		items = append(items, fmt.Sprint(i))
		if g.chance(12) {
			items = append(items, fmt.Sprintf("x = tr(%d)", i))
		}
	}
	items = append(items, g.pick("two(7)", "x = tr(8)", "9", "none()", "id(1, 2, 3)"))
	return fmt.Sprintf("do local t = {%s} emit(#t, t[1], t[2], t[49], t[50], t[51], t[99], t[100], t[101], t.x) end", strings.Join(items, ", "))
}

func (g *generator) integers(from, to int) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return strings.Join(list, ", ")
}
