package sql

import (
	"slices"
	"strings"

	"github.com/tidelock-lua/tidelock/native/outcome"
)

// Statement is one statement with the values of its placeholders.
type Statement struct {
	// Text is the statement, with placeholders in the form of its driver.
	Text string
	// Params are of the types nil, bool, int64, float64 and string.
	Params []any
}

// StatementMax is the longest statement in bytes.
const StatementMax = 1 << 20

// readKeywords are the keywords of statements that return rows and are not
// meant to change anything.
var readKeywords = []string{"select", "with", "values", "table", "show", "explain", "describe", "desc"}

// check refuses statements that begin or end a transaction by themselves, and
// those that wait for data that no script can send.
func (s Statement) check(op string, inside, readOnly bool) error {
	words := Words(s.Text, 2)
	keyword := words[0]
	refuse := func(why string) error {
		return &outcome.Error{Code: CodeFailed, Op: op, Message: why, Applied: outcome.AppliedNo}
	}
	switch keyword {
	case "":
		return refuse("want a statement, behind comments that all servers read alike")
	case "begin", "start", "commit", "end", "abort", "xa":
		return refuse(keyword + ": transactions are made by the method transaction, and end with its function")
	case "rollback":
		if words[1] != "to" {
			return refuse("rollback: raise an error in the function of the transaction")
		}
	case "prepare":
		if words[1] == "transaction" {
			return refuse("prepare transaction: transactions end with their function")
		}
	case "copy", "load":
		return refuse(keyword + ": there is no file or stream to copy")
	}
	if !inside && slices.Contains([]string{"savepoint", "release", "rollback"}, keyword) {
		return refuse(keyword + ": there is no transaction")
	}
	if (readOnly || op == opEach || op == opStream) && !slices.Contains(readKeywords, keyword) {
		if readOnly {
			return refuse("the connection is read-only")
		}
		return refuse("want a statement that only reads; use query for one that changes something and returns rows")
	}
	return nil
}

// Keyword returns the first word of a statement in lower case, "" if it doesn't
// begin with one. Comments are skipped, but not those that MySQL executes, nor
// those that servers parse differently: anything could stand behind one of
// them.
func Keyword(text string) string { return Words(text, 1)[0] }

// Words returns the first n words of a statement as [Keyword] does, "" for each
// that it doesn't have.
func Words(text string, n int) []string {
	out := make([]string, n)
	for i := range out {
		text = skipToWord(text)
		end := 0
		for end < len(text) && isWordByte(text[end]) {
			end++
		}
		if end == 0 {
			break
		}
		out[i], text = strings.ToLower(text[:end]), text[end:]
	}
	return out
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9'
}

// skipToWord removes spaces, comments and what else may stand before the first
// word. It stops at a comment whose end servers disagree on.
func skipToWord(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\v;(")
		var comment, rest string
		switch {
		case strings.HasPrefix(text, "--"), strings.HasPrefix(text, "#"):
			comment, rest, _ = strings.Cut(text, "\n")
			if strings.Contains(strings.TrimSuffix(comment, "\r"), "\r") {
				return text // PostgreSQL ends it there
			}
		case strings.HasPrefix(text, "/*!"), strings.HasPrefix(text, "/*M!"):
			return text
		case strings.HasPrefix(text, "/*"):
			comment, rest, _ = strings.Cut(text[2:], "*/")
			if strings.Contains(comment, "/*") {
				return text // PostgreSQL has comments in comments
			}
		default:
			return text
		}
		text = rest
	}
}

// Placeholders reports which marks of placeholders a statement has outside of
// quotes and comments: ?, and a dollar sign before a digit.
func Placeholders(text string) (question, dollar bool) {
	for i := 0; i < len(text); i++ {
		switch c, rest := text[i], text[i:]; {
		case c == '\'' || c == '"' || c == '`':
			i += skipTo(rest, string(c), 1)
		case strings.HasPrefix(rest, "--"):
			i += skipTo(rest, "\n", 0)
		case strings.HasPrefix(rest, "/*"):
			i += skipTo(rest, "*/", 2)
		case c == '?':
			question = true
		case c == '$' && len(rest) > 1 && '0' <= rest[1] && rest[1] <= '9':
			dollar = true
		}
	}
	return question, dollar
}

// skipTo returns the index of the last byte of the first mark in text at or after
// from, or of the last byte of text.
func skipTo(text, mark string, from int) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n + len(mark) - 1
	}
	return len(text) - 1
}
