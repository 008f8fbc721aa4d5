package main

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/runtime"
)

// printResult writes the result to standard output: one line of JSON, or
// indented JSON on a terminal.
func printResult(cmd *cobra.Command, r *runtime.Result) error {
	out := cmd.OutOrStdout()
	text := r.JSON
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		text = encodeJSON(r)
	} else if isTerminal(out) {
		var b bytes.Buffer
		if err := stdjson.Indent(&b, r.JSON, "", "  "); err != nil {
			return err
		}
		text = b.Bytes()
	}
	_, err := out.Write(append(escapeControls(text), '\n'))
	return err
}

// printJSON writes what a command prints with --json.
func printJSON(w io.Writer, v any) error {
	_, err := fmt.Fprintf(w, "%s\n", escapeControls(encodeJSON(v)))
	return err
}

// cell returns a text as an entry of a table: quoted if a terminal wouldn't show
// it as it is, or would show it outside its column.
func cell(s string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) }
	if strings.ContainsFunc(s, odd) || !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.HasPrefix(s, `"`) {
		return strconv.Quote(s)
	}
	return s
}

// shellWord quotes a text as one word of a shell. Commands that we print for the
// operator to run may hold names that a tenant has chosen.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@%+,=", r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	// As bash, ksh and zsh read it, and POSIX since 2024.
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return "$'" + b.String() + "'"
}

// escapeControls escapes the control characters that JSON allows to stand in
// strings as they are, DEL, U+0080 to U+009F, and those that change the order of
// what is shown: a terminal would obey them.
func escapeControls(text []byte) []byte {
	if !bytes.ContainsFunc(text, isControl) {
		return text
	}
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if isControl(r) && r != '\n' {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// isControl reports whether a terminal may obey r instead of showing it, or show
// what follows in another order or line.
func isControl(r rune) bool {
	return r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// encodeJSON returns v as JSON without HTML escapes.
func encodeJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers, JSON and strings always marshal
	}
	return text
}

// printable keeps a script from sending control sequences to a terminal, and
// from beginning a line with what looks like ours.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if isControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
	return strings.ReplaceAll(s, "\n", "\n    ")
}

// terminalLog writes records of a log, one a call, to a terminal.
type terminalLog struct{ io.Writer }

func (t terminalLog) Write(record []byte) (int, error) {
	text := printable(strings.TrimSuffix(string(record), "\n"))
	if _, err := io.WriteString(t.Writer, text+"\n"); err != nil {
		return 0, err
	}
	return len(record), nil
}
