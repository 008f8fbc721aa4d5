package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/test/dynamolocal"
)

// tidelock runs a command without a terminal. It returns what went to standard
// output, the exit code, and the error that main would print.
func tidelock(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	var stdout bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&stdout)
	root.SetErr(t.Output())
	root.SetContext(t.Context())
	err = root.Execute()
	var exit exitCode
	switch {
	case errors.As(err, &exit):
		code = int(exit)
	case err != nil:
		code = exitUsage
	}
	return stdout.String(), code, err
}

// noEnvironment keeps the caller's own configuration out.
func noEnvironment(t *testing.T) {
	for _, name := range []string{"FILE", "TABLE", "REGION", "ENDPOINT"} {
		t.Setenv("TIDELOCK_DB__"+name, "")
	}
}

func TestTableCommandLineIsChecked(t *testing.T) {
	noEnvironment(t)
	script := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(script, []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		want string // in the error
	}{
		{"table check", "--db-table"},
		{"table create --yes", "--db-table"},
		{"table create --db-table t --db-region eu-west-1", "--yes"},
		{"table check --db x", "unknown flag"},
		{"table check --db-table t --db-endpoint localhost:1 --db-region eu-west-1", "endpoint"},
		{"run --db a.db --db-table t " + script, ""},
	} {
		_, code, err := tidelock(t, strings.Fields(test.args)...)
		if code != exitUsage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: exit code %d, %v; want %d with %q", test.args, code, err, exitUsage, test.want)
		}
	}
}

func TestTableCreateAndCheck(t *testing.T) {
	noEnvironment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("TIDELOCK_DB__ENDPOINT", dynamolocal.Start(t))
	table := []string{"--db-table", "scripts", "--db-region", "eu-west-1"}
	do := func(args ...string) (string, int) {
		out, code, err := tidelock(t, append(args, table...)...)
		if code == exitUsage {
			t.Fatalf("%v: %v", args, err)
		}
		return out, code
	}

	if out, code := do("table", "check"); code != 1 || !strings.Contains(out, "no such table") {
		t.Errorf("check before: exit code %d with %q, want 1 with no such table", code, out)
	}
	if out, code := do("table", "create", "--yes"); code != 0 || out != "table \"scripts\" is created and can be used\n" {
		t.Errorf("create: exit code %d with %q, want 0", code, out)
	}
	if out, code := do("table", "create", "--yes", "--json"); code != 0 || out != `{"created":false,"ok":true,"table":"scripts"}`+"\n" {
		t.Errorf("create again: exit code %d with %q, want 0 with created false", code, out)
	}
	out, code := do("table", "check", "--json")
	var report struct {
		OK       bool
		Findings []struct{ Check, Level, Text string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || !report.OK || len(report.Findings) != 8 {
		t.Errorf("check: exit code %d with %q (%v), want 0 with 8 findings", code, out, err)
	}

	script := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(script, []byte(`
		local visits = native.db.open("visits")
		local ran, n = native.lock.with("visit", function() return visits:add("n", 1) end)
		return { ran = ran, n = n }
	`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"n":1,"ran":true}`, `{"n":2,"ran":true}`} {
		if out, code := do("run", script); code != 0 || strings.TrimSpace(out) != want {
			t.Errorf("run: exit code %d with %q, want 0 with %s", code, out, want)
		}
	}
}
