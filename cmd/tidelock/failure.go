package main

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/runtime"
)

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
	where := e.File
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
		if f.File == "" { // calls that are left out
			fmt.Fprintf(w, "  %s\n", f.Function)
			continue
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
	if line < 1 || line > len(lines) {
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
