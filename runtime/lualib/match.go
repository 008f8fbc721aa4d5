package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/tidelock-lua/tidelock/native/vm"
	"github.com/tidelock-lua/tidelock/runtime/lualib/pattern"
)

// matchers caches a run's compiled patterns and idle matchers.
type matchers struct {
	run      *vm.Run
	patterns map[string]*pattern.Pattern
	idle     []*pattern.Matcher
}

// Bounds of what matchers keeps.
const (
	patternsKept     = 64
	patternKeptBytes = 256
	matchersKept     = 4
)

// compile returns the compiled form of source.
func (m *matchers) compile(source string, anchors bool) *pattern.Pattern {
	if len(source) > patternKeptBytes || !anchors && strings.HasPrefix(source, "^") {
		return pattern.Compile(source, anchors, m.run)
	}
	if p, ok := m.patterns[source]; ok {
		return p
	}
	if m.patterns == nil || len(m.patterns) >= patternsKept {
		m.patterns = make(map[string]*pattern.Pattern)
	}
	source = strings.Clone(source) // it may be a small part of a large text
	p := pattern.Compile(source, anchors, m.run)
	m.patterns[source] = p
	return p
}

// acquire returns a matcher for p and subject, until it is released.
func (m *matchers) acquire(p *pattern.Pattern, subject string) *pattern.Matcher {
	var matcher *pattern.Matcher
	if last := len(m.idle) - 1; last >= 0 {
		matcher = m.idle[last]
		m.idle = m.idle[:last]
	} else {
		matcher = new(pattern.Matcher)
	}
	matcher.Reset(p, subject, m.run)
	return matcher
}

// release makes a matcher idle.
func (m *matchers) release(matcher *pattern.Matcher) {
	if len(m.idle) < matchersKept {
		matcher.Reset(nil, "", m.run)
		m.idle = append(m.idle, matcher)
	}
}

// findNext is like m.Find, but raises the error of a malformed pattern.
func (c call) findNext(m *pattern.Matcher, from int) bool {
	found, err := m.Find(from)
	if err != nil {
		c.raise("%s", err.Error())
	}
	return found
}

// capture returns value i of the match.
func (c call) capture(m *pattern.Matcher, i int) lua.LValue {
	text, position, err := m.Capture(i)
	switch {
	case err != nil:
		c.raise("%s", err.Error())
	case position > 0:
		return lua.LNumber(position)
	case len(text) == 1:
		return oneByte[text[0]].text
	}
	return lua.LString(substring(m.Subject(), text))
}

// pushCaptures pushes all values of the match and returns their number.
func (c call) pushCaptures(m *pattern.Matcher) int {
	n := m.Captures()
	for i := range n {
		c.Push(c.capture(m, i))
	}
	return n
}

// searchStart reads argument 3 of find and match as an index from 0.
func (c call) searchStart(length int) int {
	return min(length, max(0, fromEnd(c.integerOr(3, 1), length)-1))
}

func stringFind(c call) int {
	s, source := c.text(1), c.text(2)
	from := c.searchStart(len(s))
	if lua.LVAsBool(c.Get(4)) || pattern.IsLiteral(source) {
		at := pattern.Index(s, source, from, c.run())
		if at < 0 {
			return c.ret(lua.LNil)
		}
		c.Push(lua.LNumber(at + 1))
		c.Push(lua.LNumber(at + len(source)))
		return 2
	}
	matchers := &stateOf(c.run()).matchers
	m := matchers.acquire(matchers.compile(source, true), s)
	defer matchers.release(m)
	if !c.findNext(m, from) {
		return c.ret(lua.LNil)
	}
	c.Push(lua.LNumber(m.Start() + 1))
	c.Push(lua.LNumber(m.End()))
	if !m.HasCaptures() {
		return 2
	}
	return 2 + c.pushCaptures(m)
}

func stringMatch(c call) int {
	s, source := c.text(1), c.text(2)
	from := c.searchStart(len(s))
	matchers := &stateOf(c.run()).matchers
	m := matchers.acquire(matchers.compile(source, true), s)
	defer matchers.release(m)
	if !c.findNext(m, from) {
		return c.ret(lua.LNil)
	}
	return c.pushCaptures(m)
}

func stringGmatch(c call) int {
	s, source := c.text(1), c.text(2)
	matchers := &stateOf(c.run()).matchers
	m := new(pattern.Matcher) // the iterator's own, for as long as it lives
	m.Reset(matchers.compile(source, false), s, matchers.run)
	from := 0
	return c.ret(vm.NewClosure(c.LState, func(L *lua.LState) int {
		next := call{L, c.name}
		if from > len(s) || !next.findNext(m, from) {
			from = len(s) + 1
			return 0
		}
		from = m.Next()
		return next.pushCaptures(m)
	}, lua.LString(s), lua.LString(source)))
}

func stringGsub(c call) int {
	s, source := c.text(1), c.text(2)
	replace := c.replacement(3)
	limit := c.integerOr(4, len(s)+1)
	run := c.run()
	matchers := &stateOf(run).matchers
	p := matchers.compile(source, true)
	m := matchers.acquire(p, s)
	defer matchers.release(m)
	result := buffer{run: run}
	n, copied := 0, 0
	for from := 0; n < limit && from <= len(s) && c.findNext(m, from); from = m.Next() {
		result.text(s[copied:m.Start()])
		replace(&result, m)
		copied = m.End()
		n++
		if p.Anchored() {
			break
		}
	}
	if n == 0 {
		c.Push(lua.LString(s))
	} else {
		result.text(s[copied:])
		c.Push(lua.LString(result.String()))
	}
	c.Push(lua.LNumber(n))
	return 2
}

// replacement reads gsub's replacement and returns the function that writes it
// for a match.
func (c call) replacement(n int) func(*buffer, *pattern.Matcher) {
	switch v := c.Get(n).(type) {
	case lua.LString, lua.LNumber:
		template := c.text(n)
		if strings.IndexByte(template, '%') < 0 {
			return func(b *buffer, _ *pattern.Matcher) { b.text(template) }
		}
		return func(b *buffer, m *pattern.Matcher) { c.expand(b, template, m) }
	case *lua.LTable:
		vm.Materialize(v)
		return func(b *buffer, m *pattern.Matcher) {
			c.replaceBy(b, m, c.GetTable(v, c.capture(m, 0)))
		}
	case *lua.LFunction:
		return func(b *buffer, m *pattern.Matcher) {
			b.run.Step(1)
			c.Push(v)
			c.Call(c.pushCaptures(m), 1)
			result := c.Get(-1)
			c.Pop(1)
			c.replaceBy(b, m, result)
		}
	}
	c.argumentError(n, "string/function/table expected")
	return nil
}

// expand writes template with %0 to %9 replaced by the match and its captures.
func (c call) expand(b *buffer, template string, m *pattern.Matcher) {
	for {
		i := strings.IndexByte(template, '%')
		if i < 0 {
			b.text(template)
			return
		}
		b.text(template[:i])
		if i++; i == len(template) {
			b.char(0) // as Lua 5.1 does
			return
		}
		switch letter := template[i]; {
		case letter == '0':
			b.text(m.Text())
		case '1' <= letter && letter <= '9':
			b.text(asText(c.capture(m, int(letter-'1'))))
		default:
			b.char(letter)
		}
		template = template[i+1:]
	}
}

// replaceBy writes what a table or a function returned for the match; nil and
// false keep the match.
func (c call) replaceBy(b *buffer, m *pattern.Matcher, value lua.LValue) {
	switch {
	case !lua.LVAsBool(value):
		b.text(m.Text())
	case lua.LVCanConvToString(value):
		b.text(asText(value))
	default:
		c.raise("invalid replacement value (a %s)", value.Type().String())
	}
}

// asText returns the text of a string or a number.
func asText(v lua.LValue) string {
	if x, ok := v.(lua.LNumber); ok {
		return formatNumber(float64(x))
	}
	return string(v.(lua.LString))
}
