// Package pattern matches Lua 5.1 patterns. It is the engine of find, match,
// gmatch and gsub.
//
// A pattern is compiled to a flat list of items, one for each single
// character class (with its repetition), capture parenthesis, back reference,
// %b and %f. Lua patterns repeat single characters only, never groups, so a
// match visits the list once from left to right, and everything about captures
// but their positions is known before the first byte is read: which one a
// parenthesis closes, which ones a back reference may use. The only state of a
// match is its position in the list and in the subject. Choices (how many
// characters a repetition took) go on an explicit stack that is never longer
// than the pattern, so hostile patterns use no Go stack.
//
// As in Lua 5.1 a malformed pattern raises its error when the match reaches
// the malformed item, and not before. One thing differs: a zero byte in a
// pattern is a character like any other (5.1 ends the pattern there, or not,
// depending on the function).
//
// Work is counted in steps: about one for each item tried and each subject
// byte read. They are reported to the [Meter] about every thousand steps, and
// memory is reported before it is allocated. The meter may panic to stop the
// work.
package pattern

import (
	"errors"
	"strings"
)

// MaxCaptures is the largest number of captures in a pattern.
const MaxCaptures = 32

// Meter counts what a match costs.
type Meter interface {
	// Step is called with the number of steps since its last call.
	Step(steps int)
	// Charge is called with the bytes that a list is about to take, if they are
	// more than a few hundred.
	Charge(bytes int64)
}

// stepsPerReport is how many steps pass between two calls of [Meter.Step].
const stepsPerReport = 1000

// The errors of malformed patterns, in the words of Lua 5.1.
var (
	errEndsWithEscape    = errors.New("malformed pattern (ends with '%')")
	errMissingBracket    = errors.New("malformed pattern (missing ']')")
	errUnbalanced        = errors.New("unbalanced pattern")
	errFrontier          = errors.New("missing '[' after '%f' in pattern")
	errTooManyCaptures   = errors.New("too many captures")
	errPatternCapture    = errors.New("invalid pattern capture")
	errCaptureIndex      = errors.New("invalid capture index")
	errUnfinishedCapture = errors.New("unfinished capture")
)

// Pattern is a compiled pattern. It does not change after [Compile], so
// several matchers may share it.
type Pattern struct {
	items    []item
	anchored bool
	// prefix is text that every match begins with. It is the whole pattern if
	// literal is set.
	prefix  string
	literal bool
	// captures is how many there are; bit i of position and of unfinished
	// says that capture i is () or was never closed.
	captures             int
	position, unfinished uint32
}

// Anchored reports whether a match can begin only where the search begins.
func (p *Pattern) Anchored() bool { return p.anchored }

type op uint8

const (
	opSingle        op = iota // one byte of the class
	opOptional                // at most one, preferably one
	opGreedy                  // any number, preferably many
	opLazy                    // any number, preferably few
	opOpen                    // capture a begins
	opClose                   // capture a ends
	opPosition                // capture a is the position
	opBackReference           // the text of capture a again
	opBalance                 // from a to the b that balances it
	opFrontier                // from outside to inside of the class
	opEnd                     // the pattern is over: a match
	opSubjectEnd              // the pattern is over: a match at the subject's end
	opNever                   // never matches
	opMalformed               // the pattern is malformed here
)

// item is one element of a pattern. Those that match single characters do so
// by set, or by comparing with a when set is nil.
type item struct {
	op   op
	a, b byte
	set  *set
	err  error
}

// itemBytes is about what an item takes, with its set.
const itemBytes = 64

func (it *item) matches(c byte) bool {
	if it.set == nil {
		return c == it.a
	}
	return it.set.has(c)
}

// run returns how many bytes at the beginning of s the item matches.
func (it *item) run(s string) int {
	if it.set == &anyByte {
		return len(s)
	}
	i := 0
	if it.set == nil {
		for i < len(s) && s[i] == it.a {
			i++
		}
		return i
	}
	for i < len(s) && it.set.has(s[i]) {
		i++
	}
	return i
}

// specials are the characters that make string.find take a text for a pattern.
const specials = "^$*+?.([%-"

// IsLiteral reports whether string.find takes source for plain text. As in Lua
// 5.1, a lone ) is text there, though malformed everywhere else.
func IsLiteral(source string) bool { return !strings.ContainsAny(source, specials) }

// Literal returns the pattern that matches text itself.
func Literal(text string) *Pattern {
	return &Pattern{prefix: text, literal: true}
}

// Compile returns the compiled form of source. It never fails: a malformed item
// is the error of the match that reaches it. A leading ^ is an anchor if anchors
// is set (find, match, gsub) and a plain character if not (gmatch).
func Compile(source string, anchors bool, meter Meter) *Pattern {
	c := compiler{source: source, meter: meter}
	p := &c.pattern
	if anchors && strings.HasPrefix(source, "^") {
		p.anchored = true
		c.at = 1
	} else {
		c.literalPrefix()
		if p.literal {
			return p
		}
	}
	p.items = c.buffer[:0]
	for !c.done {
		c.element()
	}
	return p
}
