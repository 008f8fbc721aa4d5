package compile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// foreign returns a hint for syntax of another language, or "" if it isn't certain
// what was meant.
func (r *reading) foreign() string {
	last, next := r.before(0), r.at
	if hint := r.foreignPair(last, next, 1); hint != "" {
		return hint
	}
	if hint := r.foreignPair(next, r.next, 0); hint != "" {
		return hint
	}
	if len(r.open) > 0 {
		innermost := r.open[len(r.open)-1]
		if next.Type == '=' && innermost.needs != "" && innermost.token.Type != parse.TFor {
			return "'=' assigns, to compare write =="
		}
		if innermost.close == "}" && (next.Type == ':' && last.Type == parse.TString || last.Type == ':' && r.before(1).Type == parse.TIdent) {
			return `a field of a table is name = value, or ["name"] = value`
		}
		if innermost.close == "}" && (next.Type == '=' && last.Type == parse.TString) {
			return fmt.Sprintf(`a field of a table is name = value, or [%q] = value`, printable(last.Str))
		}
	}
	hint := r.foreignWord()
	if hint != "" {
		r.at = last // what follows is no error
	}
	return hint
}

// foreignPair is foreign for two tokens without a space between them. The name of
// what they would change ends n tokens before the last accepted one.
func (r *reading) foreignPair(first, second ast.Token, n int) string {
	if first.Pos.Line != second.Pos.Line || first.Pos.Column+len(first.Str) != second.Pos.Column {
		return ""
	}
	switch pair := first.Str + second.Str; pair {
	case "+=", "-=", "*=", "/=", "%=", "^=":
		name := r.target(n)
		return fmt.Sprintf("Lua has no '%s', write %s = %s %s ...", pair, name, name, first.Str)
	case "..=":
		name := r.target(n)
		return fmt.Sprintf("Lua has no '..=', write %s = %s .. ...", name, name)
	case "++":
		name := r.target(n)
		return fmt.Sprintf("Lua has no '++', write %s = %s + 1", name, name)
	case "//":
		return "comments begin with --, and Lua 5.1 has no '//' but math.floor(a / b)"
	case "/*":
		return "comments are --[[ ... ]]"
	case "**":
		return "Lua's power is ^"
	case "<>":
		return "not equal is written ~="
	case "===", "~==":
		return "equal is written ==, not equal ~="
	case ":=":
		return "Lua assigns with ="
	case "=>":
		return "a function is function(x) ... end"
	case "<<", ">>":
		return "Lua 5.1 has no operators for bits"
	}
	return ""
}

// foreignWord is foreign for names that are keywords elsewhere: the parser stops at
// what follows them.
func (r *reading) foreignWord() string {
	word, next := r.before(0), r.at
	if word.Type != parse.TIdent || r.before(1).Type == '.' || r.before(1).Type == ':' {
		return ""
	}
	switch word.Str {
	case "continue":
		return "Lua has no 'continue', write goto continue, and ::continue:: before the loop's end"
	case "elif", "elsif", "elsei":
		return "Lua has no '" + word.Str + "', write elseif"
	}
	if next.Type != parse.TIdent && next.Type != parse.TString && next.Type != '{' && next.Type != '(' {
		return ""
	}
	switch word.Str {
	case "var", "let", "const", "auto":
		return "a variable is declared by local"
	case "def", "func", "fn", "fun", "sub":
		return "a function is declared by function"
	case "try":
		return "errors are caught by pcall(function)"
	case "switch", "case":
		return "Lua has no '" + word.Str + "', write if ... elseif ... end"
	case "import", "from", "using":
		return `a module is loaded by local name = require("name")`
	case "new":
		return "Lua has no 'new', call a function that makes the table"
	case "class":
		return "Lua has no 'class', use a table with a metatable"
	case "throw", "raise":
		return "an error is raised by error(...)"
	case "foreach":
		return "write for key, value in pairs(t) do"
	}
	return ""
}

// target returns the variable or field whose name ends n tokens before the last
// accepted one.
func (r *reading) target(n int) string {
	name := ""
	for ; ; n++ {
		tok := r.before(n)
		if tok.Type != parse.TIdent {
			break
		}
		name = tok.Str + name
		if n++; r.before(n).Type != '.' {
			return name
		}
		name = "." + name
	}
	return "a"
}

// characterHints are what characters mean that no token of Lua begins with, by
// what the source goes on with there.
var characterHints = []struct{ text, hint string }{
	{"!==", "not equal is written ~="}, {"!=", "not equal is written ~="}, {"!", "Lua's negation is the word not"},
	{"&&", "Lua's operator is the word and"}, {"||", "Lua's operator is the word or"}, {"&", "Lua 5.1 has no operators for bits"}, {"|", "Lua 5.1 has no operators for bits"},
	{"~", "not equal is written ~="},
	{"??", "Lua's operator is the word or"}, {"?.", "write a and a.b"}, {"?", "a choice is written cond and a or b"},
	{"`", "a string is written in \" or '"},
	{"“", "a curly quote, write \""}, {"”", "a curly quote, write \""}, {"„", "a curly quote, write \""},
	{"‘", "a curly quote, write '"}, {"’", "a curly quote, write '"}, {"«", "a curly quote, write \""}, {"»", "a curly quote, write \""},
	{"\u00a0", "a no-break space, write a plain one"}, {"\u200b", "an invisible space, delete it"}, {"\ufeff", "an invisible mark, delete it"},
	{"–", "a dash, write -"}, {"—", "a dash, write -"}, {"−", "a dash, write -"}, {"…", "write three dots"},
	{"×", "write *"}, {"≠", "not equal is written ~="}, {"≤", "write <="}, {"≥", "write >="},
	{"\\", "a backslash stands in strings only"}, {"@", "Lua has no '@'"}, {"$", "Lua has no '$'"},
}

// character returns the message for the character of a line that begins no token,
// "" if nothing more is known than that.
func character(line string, column int) string {
	if column < 1 || column > len(line) {
		return ""
	}
	rest := line[column-1:]
	for _, c := range characterHints {
		if strings.HasPrefix(rest, c.text) {
			shown := printable(c.text)
			if strings.HasPrefix(c.hint, "a no-break") || strings.HasPrefix(c.hint, "an invisible") {
				shown = "?"
			}
			return "unexpected symbol near '" + shown + "': " + c.hint
		}
	}
	if c, n := utf8.DecodeRuneInString(rest); c != utf8.RuneError && n > 1 {
		return "unexpected symbol near '" + printable(rest[:n]) + "': names have letters without accents, digits and _"
	}
	return ""
}
