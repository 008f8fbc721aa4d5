package main

import (
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
	"github.com/tidelock-lua/tidelock/runtime"
)

func TestRecordsOnATerminalHaveNoControlCharactersAndForgeNoOther(t *testing.T) {
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

func TestControlCharactersOfAResultAreEscaped(t *testing.T) {
	got := string(escapeControls([]byte("{\"a\":\"\x7f\u009b\u00a0ü\"}\n")))
	if want := "{\"a\":\"\\u007f\\u009b\u00a0ü\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
