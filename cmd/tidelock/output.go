package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

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
		if err := json.Indent(&b, r.JSON, "", "  "); err != nil {
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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // numbers, JSON and strings always marshal
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// reportFailure prints why a run failed and returns its exit code. With --json
// the error is what the command prints; otherwise it goes to standard error. inv
// is nil if the run hasn't begun.
func reportFailure(cmd *cobra.Command, e *runtime.Error, inv *runtime.Invocation) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		if err := printJSON(cmd.OutOrStdout(), map[string]any{"ok": false, "error": e}); err != nil && !isBrokenPipe(err) {
			describe(cmd.ErrOrStderr(), e, inv)
		}
	} else {
		describe(cmd.ErrOrStderr(), e, inv)
	}
	return exitCode(e.Type.ExitCode())
}

// describe writes an error as text: type and message, where it happened
// with the line of source, and the Lua stack.
func describe(w io.Writer, e *runtime.Error, inv *runtime.Invocation) {
	where := ""
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	message := printable(strings.TrimPrefix(e.Message, where+": "))
	fmt.Fprintf(w, "%s: %s\n", e.Type, message)
	if where == "" {
		return
	}
	if e.Column > 0 {
		where += fmt.Sprintf(":%d", e.Column)
	}
	fmt.Fprintf(w, "  at %s\n", printable(where))
	if line, ok := sourceLine(inv, e.File, e.Line); ok {
		quoteLine(w, line, e.Line, e.Column)
	}
	for i, f := range e.Stack {
		if i == 0 {
			fmt.Fprintln(w, "stack:")
		}
		fmt.Fprintf(w, "  %s:%d in %s\n", printable(f.File), f.Line, printable(f.Function))
	}
}

// quoteLine writes a line of source, and a caret below it if the column is
// known.
func quoteLine(w io.Writer, line string, number, column int) {
	prefix := fmt.Sprintf("  %d | ", number)
	fmt.Fprintf(w, "%s%s\n", prefix, printable(strings.ReplaceAll(line, "\t", " ")))
	if column > 0 && column <= len(line)+1 {
		width := utf8.RuneCountInString(line[:column-1])
		fmt.Fprintf(w, "%s^\n", strings.Repeat(" ", len(prefix)+width))
	}
}

// sourceLine finds a line of the script, or of one that it required.
func sourceLine(inv *runtime.Invocation, file string, line int) (string, bool) {
	if inv == nil {
		return "", false
	}
	source := inv.Source
	if file != inv.Script {
		text, err := readModule(inv.Scripts, file)
		if err != nil {
			return "", false
		}
		source = string(text)
	}
	lines := strings.Split(source, "\n")
	if line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[line-1], "\r"), true
}

func readModule(roots []fs.FS, file string) (text []byte, err error) {
	for _, root := range roots {
		if text, err = fs.ReadFile(root, file); err == nil {
			return text, nil
		}
	}
	return nil, err
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
