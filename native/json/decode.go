package json

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tidelock-lua/tidelock/native/value"
)

// DepthMax is how many lists and maps may lie in each other, both ways.
const DepthMax = 200

// Decode reads one JSON text. Nothing but white space may follow it, and an empty
// text is an error.
func Decode(text []byte) (any, error) {
	return decode(text, Metered{Step: func(int) {}})
}

// Decode is like the function [Decode]. It counts a step for each value and each
// chunk of the text.
func (m Metered) Decode(text []byte) (any, error) { return decode(text, m) }

// DecodeString is like [Metered.Decode], without a copy to make text bytes.
func (m Metered) DecodeString(text string) (any, error) { return decode(text, m) }

func decode[T text](s T, m Metered) (any, error) {
	d := decoder[T]{text: s, step: m.Step, bigInteger: m.BigInteger}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if d.peek(); d.at < len(d.text) {
		return nil, fmt.Errorf("more text after the value, at byte %d", d.at+1)
	}
	return v, nil
}

// text is what a JSON text may be.
type text interface{ string | []byte }

// decoder reads a text. The standard library's reads a string in one go, however
// long it is; this one counts its steps on the way.
type decoder[T text] struct {
	text    T
	at      int // bytes that were read
	counted int // bytes, as steps
	step    func(int)

	bigInteger func(numeral string, nearest float64) any // nil for none
}

const (
	// chunkBytes is how much text is read or written between two steps.
	chunkBytes   = 64 << 10
	bytesPerStep = 64
	// numeralMax is the largest size of a number as text: it isn't read in
	// chunks.
	numeralMax = 64 << 10
)

// countStep counts a step, and what was read since the last.
func (d *decoder[T]) countStep() {
	n := (d.at - d.counted) / bytesPerStep
	d.counted += n * bytesPerStep
	d.step(1 + n)
}

// peek returns the next byte that is no white space, 0 at the end of the text.
func (d *decoder[T]) peek() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n':
			if d.at-d.counted >= chunkBytes {
				d.countStep()
			}
		default:
			return c
		}
	}
	return 0
}

// unexpected is the error of the byte that isn't what the text may go on with.
func (d *decoder[T]) unexpected(want string) error {
	if d.at == len(d.text) {
		return errors.New("the text ends too soon")
	}
	rest := string(d.text[d.at:min(len(d.text), d.at+utf8.UTFMax)])
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size == 1 {
		return errNotUTF8
	}
	return fmt.Errorf("got %q, want %s, at byte %d", r, want, d.at+1)
}

var (
	errNotUTF8  = errors.New("not valid UTF-8")
	errHalfPair = errors.New("half of a surrogate pair")
)

func (d *decoder[T]) value(depth int) (any, error) {
	d.countStep()
	switch c := d.peek(); {
	case c == '"':
		return d.string()
	case c == '[' || c == '{':
		if depth == DepthMax {
			return nil, fmt.Errorf("more than %d lists and maps deep", DepthMax)
		}
		d.at++
		if c == '[' {
			return d.list(depth + 1)
		}
		return d.stringMap(depth + 1)
	case c == '-' || isDigit(c):
		return d.number()
	case c == 't':
		return true, d.word("true")
	case c == 'f':
		return false, d.word("false")
	case c == 'n':
		return value.Null{}, d.word("null")
	}
	return nil, d.unexpected("a value")
}

// word reads a word whose first letter was seen.
func (d *decoder[T]) word(word string) error {
	for i := range len(word) {
		if d.at == len(d.text) || d.text[d.at] != word[i] {
			return d.unexpected(word)
		}
		d.at++
	}
	return nil
}

// list reads what is behind a '['.
func (d *decoder[T]) list(depth int) (any, error) {
	list := value.List{}
	if d.peek() == ']' {
		d.at++
		return list, nil
	}
	for {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err := d.more(']'); err != nil || !more {
			return list, err
		}
	}
}

// stringMap reads what is behind a '{'. Of equal keys the last one counts.
func (d *decoder[T]) stringMap(depth int) (any, error) {
	m := value.Map{}
	if d.peek() == '}' {
		d.at++
		return m, nil
	}
	for {
		if d.peek() != '"' {
			return nil, d.unexpected("a key")
		}
		key, err := d.string()
		if err != nil {
			return nil, err
		}
		if d.peek() != ':' {
			return nil, d.unexpected("':'")
		}
		d.at++
		if m[key], err = d.value(depth); err != nil {
			return nil, err
		}
		if more, err := d.more('}'); err != nil || !more {
			return m, err
		}
	}
}

// more reads what is behind an element: a comma, or the end of the list or map.
func (d *decoder[T]) more(end byte) (bool, error) {
	switch c := d.peek(); {
	case d.at < len(d.text) && (c == ',' || c == end):
		d.at++
		return c == ',', nil
	}
	return false, d.unexpected("',' or '" + string(rune(end)) + "'")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (d *decoder[T]) number() (any, error) {
	from := d.at
	d.skip("-")
	if !d.skip("0") && !d.digits() {
		return nil, d.unexpected("a digit")
	}
	integer := d.at
	if d.skip(".") && !d.digits() {
		return nil, d.unexpected("a digit")
	}
	if d.skip("eE") {
		if d.skip("+-"); !d.digits() {
			return nil, d.unexpected("a digit")
		}
	}
	if d.at-from > numeralMax {
		return nil, fmt.Errorf("a number of more than %d bytes, at byte %d", numeralMax, from+1)
	}
	f, err := strconv.ParseFloat(string(d.text[from:d.at]), 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the number %.40s is too large", string(d.text[from:d.at]))
	}
	if d.bigInteger != nil && d.at == integer && math.Abs(f) >= 1<<53 {
		return d.bigInteger(string(d.text[from:d.at]), f), nil
	}
	return f, nil
}

// skip reads one byte if it is one of some, and reports whether it was.
func (d *decoder[T]) skip(some string) bool {
	for i := 0; i < len(some) && d.at < len(d.text); i++ {
		if d.text[d.at] == some[i] {
			d.at++
			return true
		}
	}
	return false
}

// digits reads digits, and reports whether there were any.
func (d *decoder[T]) digits() bool {
	from := d.at
	for ; d.at < len(d.text) && isDigit(d.text[d.at]); d.at++ {
		if d.at-d.counted >= chunkBytes {
			d.countStep()
		}
	}
	return d.at > from
}
