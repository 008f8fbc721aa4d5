package compile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// SyntaxError is the error of a source that isn't Lua or is over a limit.
type SyntaxError struct {
	// File is the chunk's name as given to Compile.
	File string
	// Line and Column count from 1; Column counts bytes. 0 means unknown.
	Line, Column int
	// Message is what is wrong, in Lua's own wording where there is one.
	Message string

	cause error // what the compiler panicked with, for logs
}

// Error returns "file:line: message", or "file: message" if no line is known.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Unwrap returns what the parser or compiler panicked with if the error is
// theirs, else nil. Its text is for logs, not for scripts.
func (e *SyntaxError) Unwrap() error { return e.cause }

// recovered turns the value of a panic into an error.
func recovered(file string, value any) *SyntaxError {
	switch v := value.(type) {
	case *SyntaxError:
		return v
	case error:
		return &SyntaxError{File: file, Message: "internal error of the compiler", cause: v}
	}
	return recovered(file, fmt.Errorf("%v", value))
}

// parserMessages maps the scanner's and the parser's messages to Lua's.
var parserMessages = map[string]string{
	"parse error":                   "syntax error",
	"unterminated string":           "unfinished string",
	"unterminated multiline string": "unfinished long string",
	"invalid multiline string":      "invalid long string delimiter",
	"invalid multiline comment":     "unfinished long comment",
	"illegal hexadecimal number":    "malformed number",
	"Invalid token":                 "unexpected symbol",
	"Invalid '~' token":             "unexpected symbol",
}

// parseError translates an error of gopher-lua's scanner or parser.
func parseError(file, source string, err error) *SyntaxError {
	var at *parse.Error
	if !errors.As(err, &at) {
		return recovered(file, err)
	}
	r := read(file, source, at)
	message := at.Message
	if words, ok := parserMessages[message]; ok {
		message = words
	}
	if message == "syntax error" {
		e := &SyntaxError{File: file, Message: r.message()}
		e.Line, e.Column = r.at.Pos.Line, r.at.Pos.Column
		if r.at.Type == parse.TString {
			e.Line = at.Pos.Line // where it ends
		}
		return e
	}
	if at.Pos.Line == parse.EOF {
		return &SyntaxError{File: file, Line: 1 + newlines(source), Message: message + " near '<eof>'" + r.begun(message)}
	}
	near := message + " near '" + printable(at.Token) + "'"
	if at.Pos.Column == 0 { // the scanner is behind a newline that it didn't expect
		return &SyntaxError{File: file, Line: at.Pos.Line - 1, Column: r.columnAfter(at.Pos.Line - 1), Message: near + ": its closing quote is missing on this line"}
	}
	column := tokenColumn(source, at.Pos.Line, at.Pos.Column, at.Token)
	if message == "unexpected symbol" {
		if hint := character(r.line(at.Pos.Line), column); hint != "" {
			near = hint
		}
	}
	return &SyntaxError{File: file, Line: at.Pos.Line, Column: column, Message: near}
}

// compilerMessages maps messages of gopher-lua's compiler to Lua's.
var compilerMessages = map[string]string{
	"register overflow":                           "function or expression too complex",
	"register overflow(too many local variables)": "function or expression too complex",
	"too many local variables":                    "function or expression too complex",
	"too long to jump.":                           "control structure too long",
}

// compileError translates an error of gopher-lua's compiler.
func compileError(file string, err error) *SyntaxError {
	var at *lua.CompileError
	if !errors.As(err, &at) {
		return recovered(file, err)
	}
	message := at.Message
	if words, ok := compilerMessages[message]; ok {
		message = words
	}
	return &SyntaxError{File: file, Line: at.Line, Message: message}
}

// tokenColumn returns where a token begins. The parser reports where it ends;
// if the source doesn't have it right before there, as with escapes in a
// string, the reported column is the best there is.
func tokenColumn(source string, line, column int, token string) int {
	for ; line > 1; line-- {
		i := strings.IndexAny(source, "\r\n")
		if i < 0 {
			return column
		}
		source = source[i+newlineLength(source[i:]):]
	}
	begin := column - len(token)
	if begin >= 0 && column <= len(source) && source[begin:column] == token {
		return begin + 1
	}
	return column
}

// newlineLength returns how many bytes the newline at the front of s has: Lua
// takes \r\n and \n\r for one.
func newlineLength(s string) int {
	if strings.HasPrefix(s, "\r\n") || strings.HasPrefix(s, "\n\r") {
		return 2
	}
	return 1
}

func newlines(source string) int {
	n := 0
	for {
		i := strings.IndexAny(source, "\r\n")
		if i < 0 {
			return n
		}
		n++
		source = source[i+newlineLength(source[i:]):]
	}
}

// printableMax is how many bytes of source an error or a traceback shows at
// most.
const printableMax = 60

// printable returns s as one line of an error or traceback may show it: short,
// valid UTF-8, without control characters.
func printable(s string) string {
	cut := len(s) > printableMax
	if cut {
		s = s[:printableMax]
		for i := 0; i < utf8.UTFMax && !utf8.ValidString(s); i++ { // the cut may have split a character
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == utf8.RuneError || c >= 0x80 && c < 0xa0 {
			return '?'
		}
		return c
	}, s)
	if cut {
		s += "..."
	}
	return s
}
