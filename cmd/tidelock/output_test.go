package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
)

func TestTerminalLogHasNoControlCharactersAndNoForgedRecords(t *testing.T) {
	var out strings.Builder
	log := wire.ScriptLog(wire.NewLog(terminalLog{&out}, true), &runtime.Invocation{ID: "1", Tenant: "a", Script: "test.lua"})
	log.Log("info", "red \x1b[31m\r\x7f\u009b\n12:00:00.000\tERROR\tforged", nil)
	log.Log("info", "next", nil)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "    12:00:00.000") {
		t.Errorf("got %q, want two records, the second line of the first indented", lines)
	}
	for _, r := range out.String() {
		if isControl(r) && r != '\n' && r != '\t' {
			t.Errorf("control character %U in %q", r, out.String())
		}
	}
}

func TestResultControlCharactersAreEscaped(t *testing.T) {
	got := string(escapeControls([]byte("{\"a\":\"\x7f\u009b\u00a0ü\"}\n")))
	if want := "{\"a\":\"\\u007f\\u009b\u00a0ü\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Commands that are printed for the operator may hold names that tenants chose.
func TestShellWordIsOneWordOfTheShell(t *testing.T) {
	for _, word := range []string{
		"import-42", "", " ", "a b", "$(touch x)", "`id`", `"; x; "`, "it's", `a\b`, "*", "~", "!x", "#", "a;b", "a&b", "a|b", "<>", "{a,b}", "ü ñ", "-x",
	} {
		quoted := shellWord(word)
		got, err := exec.Command("sh", "-c", "printf '%s' "+quoted).Output()
		if err != nil || string(got) != word {
			t.Errorf("%q as %s: got %q, %v", word, quoted, got, err)
		}
	}
	for word, want := range map[string]string{
		"a\nb": `$'a\012b'`, "\x1b[31m": `$'\033[31m'`, "\u202ex'\\": `$'\342\200\256x\047\134'`, "\xff": `$'\377'`,
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

func TestCellStaysInItsColumn(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a b": "a b", `say "x"`: `say "x"`, "ü": "ü", "": "", " a": `" a"`, "a\tb": `"a\tb"`, "a\nb": `"a\nb"`,
		"\x1b": `"\x1b"`, "\u202e": `"\u202e"`, "\u2028": `"\u2028"`, "\xff": `"\xff"`, `"a"`: `"\"a\""`, "\u00a0": `"\u00a0"`,
	} {
		if got := cell(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestExitCodeOfOutputThatWasNotWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here") // it is Linux's
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"--help"}, {"completion", "bash"}} {
		if code := run(args, &stdout{file: full}); code != 125 {
			t.Errorf("%v: got exit code %d, want 125", args, code)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if code := run([]string{"version"}, &stdout{file: w}); code != 141 {
		t.Errorf("got exit code %d without a reader, want 141", code)
	}
}
