package sqlite

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"modernc.org/sqlite"
)

// readPragmas are the pragmas that change nothing.
var readPragmas = []string{
	"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
	"foreign_key_check", "collation_list", "compile_options", "integrity_check", "quick_check",
}

// authorize returns whether a part of a statement is allowed. SQLite calls it when
// it compiles the statement.
func (s *session) authorize(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		return allow(!slices.Contains([]string{"load_extension", "fts3_tokenizer"}, strings.ToLower(arg2)))
	case sqlite.AuthPragma:
		return allow(slices.Contains(readPragmas, strings.ToLower(arg1)))
	case sqlite.AuthAttach, sqlite.AuthDetach:
		return sqlite.AuthorizerDeny
	case sqlite.AuthTransaction:
		return allow(s.ownStatement.Load())
	case sqlite.AuthSavepoint:
		return allow(s.inTx)
	case sqlite.AuthCreateTempIndex, sqlite.AuthCreateTempTable, sqlite.AuthCreateTempTrigger, sqlite.AuthCreateTempView:
		s.dirty = true
	}
	return allow(!s.readOnly)
}

func allow(ok bool) sqlite.AuthorizerReturnCode {
	if ok {
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// value returns a parameter as it is stored: a string that isn't valid UTF-8 is
// stored as bytes.
func value(p any) any {
	if s, ok := p.(string); ok && !utf8.ValidString(s) {
		return []byte(s)
	}
	return p
}

const errMultiple = refused("several statements in one: send them one by one")

// placeholders returns how many values a statement needs, by its ?, ?2 and $2, and
// refuses several statements in one text, all of which the underlying driver would
// execute. It parses words, quotes and comments as SQLite does.
func placeholders(text string) (n int, err error) {
	ended := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case strings.ContainsRune(" \t\r\n\f", rune(c)):
		case strings.HasPrefix(rest, "--"):
			i += endOf(rest, "\n", 0)
		case strings.HasPrefix(rest, "/*"):
			i += endOf(rest, "*/", 2)
		case c == ';':
			ended = true
		case ended:
			return 0, errMultiple
		case c == '\'' || c == '"' || c == '`':
			i += endOf(rest, string(c), 1) // a doubled quote begins the next string
		case c == '[':
			i += endOf(rest, "]", 1)
		case c == '?' || c == '$':
			behind := strings.TrimLeft(rest[1:], "0123456789")
			number := rest[1 : len(rest)-len(behind)]
			i += len(number)
			if number == "" && c == '?' {
				n++ // the number after the largest so far
			} else if v, err := strconv.Atoi(number); err == nil {
				n = max(n, v)
			}
		case isWordByte(c):
			for i+1 < len(text) && (isWordByte(text[i+1]) || text[i+1] == '$') {
				i++
			}
		}
	}
	return n, nil
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// endOf returns the index of the last byte of the first mark in text at or after
// from, or of the last byte of text if there is none.
func endOf(text, mark string, from int) int {
	n := strings.Index(text[from:], mark)
	if n < 0 {
		return len(text) - 1
	}
	return from + n + len(mark) - 1
}
