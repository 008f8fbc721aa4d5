package compile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// This file explains what the parser calls "syntax error": which block isn't
// closed, and what is written differently in other languages. It reads the source
// once more, so it is for errors only.

// opener is a token that waits for one that closes it.
type opener struct {
	token  ast.Token
	close  string // "end", "until", ")", "]", "}"
	needs  string // "then" or "do", until it has come
	indent int    // of its line
}

// reading is what was read of a source before its error.
type reading struct {
	lines  []string
	tokens []ast.Token // those before the error
	at     ast.Token   // the one at which the parser stopped
	next   ast.Token   // the one after it
	open   []opener    // from the outermost to the innermost
	// unclosed is the first opener whose "end" seems to be missing: the one that it
	// was paired with stands further left.
	unclosed *opener
	elseIf   *ast.Token // the last "else if"
}

// read reads the tokens of source up to the one that a parser's error names.
func read(file, source string, at *parse.Error) *reading {
	r := &reading{lines: splitLines(source)}
	scanner := parse.NewScanner(strings.NewReader(source), file)
	lexer := &parse.Lexer{}
	for {
		tok, err := scanner.Scan(lexer)
		if err != nil || tok.Type == parse.EOF {
			r.at = ast.Token{Type: parse.EOF, Pos: ast.Position{Line: len(r.lines), Column: 0}}
			return r
		}
		lexer.PrevTokenType, lexer.Token = lexer.Token.Type, tok
		if scanner.Pos == at.Pos && tok.Str == at.Token && at.Pos.Line != parse.EOF {
			r.at = tok
			r.next, _ = scanner.Scan(lexer)
			return r
		}
		r.token(tok)
	}
}

// splitLines splits a source as the scanner counts its lines.
func splitLines(source string) (lines []string) {
	for {
		i := strings.IndexAny(source, "\r\n")
		if i < 0 {
			return append(lines, source)
		}
		lines = append(lines, source[:i])
		source = source[i+newlineLength(source[i:]):]
	}
}

// token takes a token that the parser has accepted.
func (r *reading) token(tok ast.Token) {
	switch tok.Type {
	case parse.TFunction:
		r.push(tok, "end", "")
	case parse.TIf:
		r.push(tok, "end", "then")
		if len(r.tokens) > 0 && r.before(0).Type == parse.TElse && r.before(0).Pos.Line == tok.Pos.Line {
			r.elseIf = &r.open[len(r.open)-1].token
		}
	case parse.TElseIf:
		if i := r.innermost("end"); i >= 0 {
			r.open[i].needs = "then"
		}
	case parse.TWhile, parse.TFor:
		r.push(tok, "end", "do")
	case parse.TThen:
		if i := r.innermost("end"); i >= 0 {
			r.open[i].needs = ""
		}
	case parse.TDo:
		if i := len(r.open) - 1; i >= 0 && r.open[i].needs == "do" {
			r.open[i].needs = ""
		} else {
			r.push(tok, "end", "")
		}
	case parse.TRepeat:
		r.push(tok, "until", "")
	case '(':
		r.push(tok, ")", "")
	case '[':
		r.push(tok, "]", "")
	case '{':
		r.push(tok, "}", "")
	case parse.TEnd, parse.TUntil, ')', ']', '}':
		r.pop(tok)
	}
	r.tokens = append(r.tokens, tok)
}

func (r *reading) push(tok ast.Token, close, needs string) {
	r.open = append(r.open, opener{token: tok, close: close, needs: needs, indent: r.indent(tok.Pos.Line)})
}

func (r *reading) pop(tok ast.Token) {
	if len(r.open) == 0 {
		return
	}
	last := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	first := tok.Pos.Column == r.indent(tok.Pos.Line)+1 // of its line
	if tok.Type == parse.TEnd && r.unclosed == nil && first && last.indent > r.indent(tok.Pos.Line) {
		r.unclosed = &last
	}
}

// innermost returns the index of the last opener that waits for close, -1 if
// there is none.
func (r *reading) innermost(close string) int {
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i].close == close {
			return i
		}
	}
	return -1
}

// line returns a line of the source, counted from 1.
func (r *reading) line(n int) string {
	if n < 1 || n > len(r.lines) {
		return ""
	}
	return r.lines[n-1]
}

// indent is how many characters of white space a line begins with.
func (r *reading) indent(line int) int {
	text := r.line(line)
	return len(text) - len(strings.TrimLeft(text, " \t"))
}

// before returns the token n before the last accepted one.
func (r *reading) before(n int) ast.Token {
	if i := len(r.tokens) - 1 - n; i >= 0 {
		return r.tokens[i]
	}
	return ast.Token{}
}

// near returns the token at which the parser stopped, as errors show it.
func (r *reading) near() string {
	if r.at.Type == parse.EOF {
		return "'<eof>'"
	}
	if r.at.Str == "" && r.at.Type < utf8.RuneSelf { // the scanner gives a dot no text
		return "'" + string(rune(r.at.Type)) + "'"
	}
	return "'" + printable(r.at.Str) + "'"
}

// message returns what is wrong at the token, in Lua's words where the parser has
// no text.
func (r *reading) message() string {
	if hint := r.foreign(); hint != "" {
		return "syntax error near " + r.near() + ": " + hint
	}
	if len(r.open) == 0 {
		switch r.at.Type {
		case parse.TEnd, parse.TElse, parse.TElseIf, parse.TUntil, ')', ']', '}':
			return "'<eof>' expected near " + r.near() + ": there is nothing open that it could close"
		}
		return "syntax error near " + r.near() + r.afterReturn()
	}
	innermost := r.open[len(r.open)-1]
	switch {
	case innermost.needs != "" && innermost.needs != r.at.Str && (r.startsStatement() || r.at.Type == parse.TThen || r.at.Type == parse.TDo || r.at.Type == parse.TEnd):
		return fmt.Sprintf("'%s' expected%s near %s", innermost.needs, r.opened("for", innermost), r.near())
	case r.at.Type == parse.EOF:
		return r.unfinished(innermost)
	case isBracket(innermost) && !r.continues():
		return fmt.Sprintf("'%s' expected%s near %s%s", innermost.close, r.opened("to close", innermost), r.near(), r.comma(innermost))
	case r.closesAnother(innermost):
		return fmt.Sprintf("'%s' expected%s near %s", innermost.close, r.opened("to close", innermost), r.near())
	}
	hint := r.afterReturn()
	if hint != "" && innermost.close == "end" && r.indent(r.at.Pos.Line) == r.at.Pos.Column-1 && r.at.Pos.Column-1 <= innermost.indent {
		return fmt.Sprintf("'end' expected%s near %s", r.opened("to close", innermost), r.near())
	}
	return "syntax error near " + r.near() + hint
}

// opened says where an opener stands, unless that is the line of the error.
func (r *reading) opened(words string, o opener) string {
	if o.token.Pos.Line == r.at.Pos.Line && r.at.Type != parse.EOF {
		return ""
	}
	return fmt.Sprintf(" (%s '%s' at line %d)", words, o.token.Str, o.token.Pos.Line)
}

// unfinished is the message for a source that ends too early.
func (r *reading) unfinished(innermost opener) string {
	text := fmt.Sprintf("'%s' expected%s near '<eof>'", innermost.close, r.opened("to close", innermost))
	switch {
	case innermost.close != "end":
	case r.elseIf != nil:
		text += fmt.Sprintf(": 'else if' at line %d opens an 'if' that needs an 'end' of its own, elseif doesn't", r.elseIf.Pos.Line)
	case r.unclosed != nil && r.unclosed.token.Pos != innermost.token.Pos:
		text += fmt.Sprintf(": by its indentation the '%s' at line %d has none", r.unclosed.token.Str, r.unclosed.token.Pos.Line)
	}
	return text
}

func isBracket(o opener) bool { return len(o.close) == 1 }

// closesAnother reports whether the token would close something else than what is
// open innermost.
func (r *reading) closesAnother(innermost opener) bool {
	switch r.at.Type {
	case ')', ']', '}', parse.TEnd, parse.TUntil:
		return r.at.Str != innermost.close
	case parse.TElse, parse.TElseIf:
		return innermost.token.Type != parse.TIf
	}
	return false
}

// continues reports whether the token may belong into a bracket, so that the
// error is another one.
func (r *reading) continues() bool {
	switch r.at.Type {
	case ',', ';', '+', '*', '/', '%', '^', '<', '>', '.', ':', parse.TEqeq, parse.TNeq, parse.TLte, parse.TGte, parse.T2Comma, parse.TAnd, parse.TOr:
		return true
	}
	return !r.startsStatement() && !r.endsValue(r.before(0)) && r.at.Type != '='
}

func (r *reading) startsStatement() bool {
	switch r.at.Type {
	case parse.TLocal, parse.TReturn, parse.TIf, parse.TFor, parse.TWhile, parse.TRepeat, parse.TBreak, parse.TGoto:
		return true
	case parse.TIdent, parse.TFunction:
		return r.endsValue(r.before(0))
	}
	return false
}

func (r *reading) endsValue(tok ast.Token) bool {
	switch tok.Type {
	case parse.TIdent, parse.TNumber, parse.TString, parse.TNil, parse.TTrue, parse.TFalse, parse.TEnd, ')', ']', '}', parse.T3Comma:
		return true
	}
	return false
}

// comma hints at a comma that is missing between two items of a table.
func (r *reading) comma(innermost opener) string {
	if innermost.close == "}" && r.at.Type != '=' && !r.startsKeyword() && r.endsValue(r.before(0)) {
		return ": is a comma missing before it?"
	}
	return ""
}

func (r *reading) startsKeyword() bool {
	return r.startsStatement() && r.at.Type != parse.TIdent && r.at.Type != parse.TFunction
}

// afterReturn hints at statements behind a return.
func (r *reading) afterReturn() string {
	for i := range r.tokens {
		switch tok := r.before(i); tok.Type {
		case parse.TReturn:
			if tok.Pos.Line < r.at.Pos.Line && r.at.Type != parse.EOF && (r.startsStatement() || r.at.Type == parse.TIdent) {
				return fmt.Sprintf(": 'return' at line %d must be the last statement of its block", tok.Pos.Line)
			}
			return ""
		case parse.TEnd, parse.TUntil, parse.TThen, parse.TDo, parse.TLocal, parse.TIf, parse.TFor, parse.TWhile, parse.TRepeat, parse.TFunction, ';', '=':
			return ""
		}
	}
	return ""
}

// columnAfter returns the column of the first character of a line behind the
// last token that was read, 0 if there is none.
func (r *reading) columnAfter(line int) int {
	from := 0
	if last := r.before(0); last.Pos.Line == line {
		from = last.Pos.Column - 1 + len(last.Str)
		if last.Type == parse.TString {
			from += len(`""`)
		}
	}
	if line < 1 || line > len(r.lines) || from > len(r.lines[line-1]) {
		return 0
	}
	rest := r.lines[line-1][from:]
	space := len(rest) - len(strings.TrimLeft(rest, " \t"))
	if space == len(rest) {
		return 0
	}
	return from + space + 1
}

// begun says where a string or comment begins that the end of the source cuts off.
func (r *reading) begun(message string) string {
	mark := "["
	if strings.Contains(message, "comment") {
		mark = "--["
	}
	line, from := 1, 0
	if last := r.before(0); last.Pos.Line > 0 {
		line, from = last.Pos.Line, last.Pos.Column-1+len(last.Str)
	}
	for ; line <= len(r.lines); line, from = line+1, 0 {
		text := r.lines[line-1]
		if i := strings.Index(text[min(from, len(text)):], mark); i >= 0 {
			return fmt.Sprintf(" (it begins at line %d)", line)
		}
	}
	return ""
}
