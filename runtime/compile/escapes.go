package compile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// gopher-lua reads \x41 as x41, \u{20AC} as u{20AC}, \z as z, and of \300 it
// keeps the low byte, all without a word. So they are replaced in the source
// before it is read: the first three have the meaning of Lua 5.3, the last is
// refused.

// escapes replaces escape sequences in the strings of a source.
type escapes struct {
	file   string
	source string
	out    strings.Builder
	copied int // bytes of source that are in out
	lines  int // newlines left out of the string that is being read
}

// replaceEscapes returns source with the escape sequences replaced that
// gopher-lua doesn't know. Lines stay where they are.
func replaceEscapes(file, source string) (string, *SyntaxError) {
	if !hasEscapes(source) {
		return source, nil
	}
	e := escapes{file: file, source: source}
	for at := 0; at < len(source); {
		rest := source[at:]
		switch {
		case strings.HasPrefix(rest, "--"):
			if n := longBracket(rest[len("--"):]); n > 0 {
				at += len("--") + n
			} else {
				at += lineLength(rest)
			}
		case rest[0] == '[':
			at += max(1, longBracket(rest))
		case rest[0] == '"' || rest[0] == '\'':
			var err *SyntaxError
			if at, err = e.text(at); err != nil {
				return "", err
			}
		default:
			at++
		}
	}
	return e.out.String() + source[e.copied:], nil
}

func hasEscapes(source string) bool {
	for {
		i := strings.IndexByte(source, '\\')
		if i < 0 || i+1 == len(source) {
			return false
		}
		if c := source[i+1]; strings.IndexByte("xuz0123456789", c) >= 0 {
			return true
		}
		source = source[i+2:]
	}
}

// longBracket returns the size of the long string that s begins with, 0 if there
// is none.
func longBracket(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	level := len(s) - len(strings.TrimLeft(s[1:], "=")) - 1
	if level+1 >= len(s) || s[level+1] != '[' {
		return 0
	}
	end := "]" + strings.Repeat("=", level) + "]"
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// lineLength returns how many bytes are before the end of the line.
func lineLength(s string) int {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

// text reads the string whose quote is at an index, and returns the index behind
// it.
func (e *escapes) text(at int) (int, *SyntaxError) {
	quote := e.source[at]
	for at++; at < len(e.source); {
		switch c := e.source[at]; {
		case c == quote:
			at++
			e.replace(at, at, strings.Repeat("\n", e.lines))
			e.lines = 0
			return at, nil
		case c == '\r' || c == '\n':
			return at, nil // the parser reports it
		case c == '\\' && at+1 < len(e.source):
			size, err := e.sequence(at)
			if err != nil {
				return 0, err
			}
			at += size
		default:
			at++
		}
	}
	return at, nil
}

// replace writes instead of the source from one index to another.
func (e *escapes) replace(from, to int, with string) {
	if from == to && with == "" {
		return
	}
	e.out.WriteString(e.source[e.copied:from])
	e.out.WriteString(with)
	e.copied = to
}

// sequence reads the escape sequence at an index and returns its size.
func (e *escapes) sequence(at int) (size int, err *SyntaxError) {
	rest := e.source[at:]
	switch c := rest[1]; {
	case c == 'x':
		value, err := strconv.ParseUint(rest[2:min(4, len(rest))], 16, 8)
		if err != nil || len(rest) < 4 {
			return 0, e.fail(at, "hexadecimal digit expected", 4)
		}
		e.replace(at, at+4, fmt.Sprintf(`\%03d`, value))
		return 4, nil
	case c == 'u':
		return e.character(at)
	case c == 'z':
		size = 2 + len(rest[2:]) - len(strings.TrimLeft(rest[2:], " \t\n\v\f\r"))
		e.lines += newlines(rest[2:size])
		e.replace(at, at+size, "")
		return size, nil
	case '0' <= c && c <= '9':
		for size = 2; size < min(4, len(rest)) && '0' <= rest[size] && rest[size] <= '9'; size++ {
		}
		if value, _ := strconv.Atoi(rest[1:size]); value > 255 {
			return 0, e.fail(at, "escape sequence too large", size)
		}
		return size, nil
	case strings.HasPrefix(rest[1:], "\r\n") || strings.HasPrefix(rest[1:], "\n\r"):
		return 3, nil
	}
	return 2, nil
}

// character reads \u{20AC}.
func (e *escapes) character(at int) (size int, err *SyntaxError) {
	rest := e.source[at:]
	digits, _, closed := strings.Cut(strings.TrimPrefix(rest, `\u{`), "}")
	value, parseErr := strconv.ParseUint(digits, 16, 32)
	switch {
	case !strings.HasPrefix(rest, `\u{`):
		return 0, e.fail(at, `missing '{' in \u{xxxx}`, 2)
	case !closed || parseErr != nil && len(strings.Trim(digits, "0123456789abcdefABCDEF")) > 0 || digits == "":
		return 0, e.fail(at, `hexadecimal digits and '}' expected in \u{xxxx}`, 3)
	case parseErr != nil || value > utf8.MaxRune:
		return 0, e.fail(at, "UTF-8 value too large", len(`\u{}`)+len(digits))
	}
	e.replace(at, at+len(`\u{}`)+len(digits), escaped(utf8Bytes(uint32(value))))
	return len(`\u{}`) + len(digits), nil
}

// utf8Bytes encodes c, a half of a surrogate pair too, as Lua does.
func utf8Bytes(c uint32) []byte {
	if 0xd800 <= c && c < 0xe000 {
		return []byte{0xe0 | byte(c>>12), 0x80 | byte(c>>6)&0x3f, 0x80 | byte(c)&0x3f}
	}
	return utf8.AppendRune(nil, rune(c))
}

func escaped(bytes []byte) string {
	s := ""
	for _, b := range bytes {
		s += fmt.Sprintf(`\%03d`, b)
	}
	return s
}

// fail returns the error of an escape sequence of size bytes.
func (e *escapes) fail(at int, message string, size int) *SyntaxError {
	before := e.source[:at]
	near := e.source[at:min(len(e.source), at+size)]
	line := 1 + newlines(before)
	column := 1 + len(before) - (1 + strings.LastIndexAny(before, "\r\n"))
	return &SyntaxError{File: e.file, Line: line, Column: column, Message: message + " near '" + printable(near) + "'"}
}
