package pattern

import (
	"math/bits"
	"strings"
)

// compiler turns the source of a pattern into its items.
type compiler struct {
	pattern Pattern
	source  string
	at      int // of the next byte in source
	done    bool
	open    uint32 // captures that are not closed yet
	closed  uint32
	meter   Meter
	// buffer holds the items of an ordinary pattern, so that compiling it
	// allocates once.
	buffer [12]item
}

// literalPrefix sets the text that every match begins with.
func (c *compiler) literalPrefix() {
	n := strings.IndexAny(c.source, specials+")")
	if n < 0 {
		c.pattern.prefix, c.pattern.literal = c.source, true
		return
	}
	if n > 0 && strings.IndexByte("*?-", c.source[n]) >= 0 {
		n-- // the last character may be absent
	}
	c.pattern.prefix = c.source[:n]
}

func (c *compiler) emit(it item) {
	if n := len(c.pattern.items); n == cap(c.pattern.items) {
		c.meter.Charge(2 * int64(n) * itemBytes)
	}
	c.pattern.items = append(c.pattern.items, it)
	reportEvery(len(c.pattern.items), c.meter)
}

// finish ends the list of items.
func (c *compiler) finish(last item) {
	c.emit(last)
	c.pattern.unfinished = c.open
	c.done = true
}

func (c *compiler) malformed(err error) { c.finish(item{op: opMalformed, err: err}) }

// element compiles one element of the source.
func (c *compiler) element() {
	rest := c.source[c.at:]
	switch {
	case rest == "":
		c.finish(item{op: opEnd})
	case rest == "$":
		c.finish(item{op: opSubjectEnd})
	case rest[0] == '(':
		c.openCapture(rest)
	case rest[0] == ')':
		c.closeCapture()
	case rest[0] != '%' || len(rest) == 1:
		c.single()
	case rest[1] == 'b':
		c.balance(rest)
	case rest[1] == 'f':
		c.frontier(rest)
	case '0' <= rest[1] && rest[1] <= '9':
		c.backReference(rest[1])
	default:
		c.single()
	}
}

func (c *compiler) openCapture(rest string) {
	p := &c.pattern
	if p.captures == MaxCaptures {
		c.malformed(errTooManyCaptures)
		return
	}
	index := byte(p.captures)
	p.captures++
	if strings.HasPrefix(rest, "()") {
		p.position |= 1 << index
		c.emit(item{op: opPosition, a: index})
		c.at += 2
		return
	}
	c.open |= 1 << index
	c.emit(item{op: opOpen, a: index})
	c.at++
}

func (c *compiler) closeCapture() {
	if c.open == 0 {
		c.malformed(errPatternCapture)
		return
	}
	index := byte(bits.Len32(c.open) - 1)
	c.open &^= 1 << index
	c.closed |= 1 << index
	c.emit(item{op: opClose, a: index})
	c.at++
}

func (c *compiler) backReference(digit byte) {
	bit := uint32(0)
	if digit > '0' {
		bit = 1 << (digit - '1')
	}
	switch {
	case c.closed&bit != 0:
		c.emit(item{op: opBackReference, a: digit - '1'})
	case c.pattern.position&bit != 0:
		c.emit(item{op: opNever})
	default:
		c.malformed(errCaptureIndex)
		return
	}
	c.at += 2
}

func (c *compiler) balance(rest string) {
	if len(rest) < 4 {
		c.malformed(errUnbalanced)
		return
	}
	c.emit(item{op: opBalance, a: rest[2], b: rest[3]})
	c.at += 4
}

func (c *compiler) frontier(rest string) {
	if len(rest) < 3 || rest[2] != '[' {
		c.malformed(errFrontier)
		return
	}
	c.at += 2
	it, err := c.class()
	if err != nil {
		c.malformed(err)
		return
	}
	it.op = opFrontier
	c.emit(it)
}

// single compiles a single character class and the repetition behind it.
func (c *compiler) single() {
	it, err := c.class()
	if err != nil {
		c.malformed(err)
		return
	}
	repetition := byte(0)
	if c.at < len(c.source) {
		repetition = c.source[c.at]
	}
	switch repetition {
	case '?':
		it.op = opOptional
	case '*':
		it.op = opGreedy
	case '-':
		it.op = opLazy
	case '+':
		c.emit(it)
		it.op = opGreedy
	default:
		c.emit(it)
		return
	}
	c.at++
	c.emit(it)
}

// class compiles the single character class that is next in the source.
func (c *compiler) class() (item, error) {
	first := c.source[c.at]
	c.at++
	switch first {
	case '.':
		return item{set: &anyByte}, nil
	case '[':
		return c.bracket()
	case '%':
		if c.at == len(c.source) {
			return item{}, errEndsWithEscape
		}
		letter := c.source[c.at]
		c.at++
		return item{a: letter, set: classes[letter]}, nil
	}
	return item{a: first}, nil
}

// bracket compiles a [set] whose opening bracket was read.
func (c *compiler) bracket() (item, error) {
	inside, ok := c.untilBracket()
	if !ok {
		return item{}, errMissingBracket
	}
	negated := strings.HasPrefix(inside, "^")
	if negated {
		inside = inside[1:]
	}
	var members set
	for i := 0; i < len(inside); i++ {
		reportEvery(i, c.meter)
		switch {
		case inside[i] == '%' && i+1 < len(inside):
			i++
			members.addClass(inside[i])
		case i+2 < len(inside) && inside[i+1] == '-':
			members.addRange(inside[i], inside[i+2])
			i += 2
		default:
			members.addRange(inside[i], inside[i])
		}
	}
	if negated {
		members.negate()
	}
	return item{set: &members}, nil
}

// untilBracket reads up to the ] that ends a set and returns what is before
// it. A ] in first place is a member, and so is one behind a %.
func (c *compiler) untilBracket() (inside string, ok bool) {
	start := c.at
	i := start
	if i < len(c.source) && c.source[i] == '^' {
		i++
	}
	for first := i; i < len(c.source); i++ {
		reportEvery(i, c.meter)
		switch {
		case c.source[i] == '%':
			i++
		case c.source[i] == ']' && i > first:
			c.at = i + 1
			return c.source[start:i], true
		}
	}
	return "", false
}
