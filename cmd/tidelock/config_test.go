package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/cmd/internal/config"
)

const deprecatedKey = "tidelock.yaml:2: task.running is deprecated: use task.max_concurrency"

// inFolder makes a folder with a configuration the working folder.
func inFolder(t *testing.T, text string) {
	t.Helper()
	noEnvironment(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile(config.DefaultFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConfigCheckPrintsWarnings(t *testing.T) {
	inFolder(t, "task:\n  running: 7\n")
	for _, test := range []struct{ args, want string }{
		{"config check", "warning: " + deprecatedKey + "\nthe configuration is good\n"},
		{"config check --json", `{"ok":true,"warnings":["` + deprecatedKey + `"]}` + "\n"},
	} {
		if out, code, err := tidelock(t, strings.Fields(test.args)...); out != test.want || code != 0 {
			t.Errorf("%s: exit code %d, %v, with\n%s\nwant\n%s", test.args, code, err, out, test.want)
		}
	}
}

func TestLogBeginsWithWarnings(t *testing.T) {
	inFolder(t, "task:\n  running: 7\nlog: { format: json }\n")
	c, err := config.Load(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	newLog(c)
	os.Stderr = stderr
	text, err := os.ReadFile(file.Name())
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"level":"WARN"`) || !strings.Contains(string(text), deprecatedKey) {
		t.Errorf("got %s, %v; want one warning", text, err)
	}
}

func TestConfigCheckFindsRoutesAndLimits(t *testing.T) {
	inFolder(t, "tenants:\n  acme: {scripts: .}\nlambda:\n  routes:\n    - {match: /a, tenant: acme, script: missing}\n    - {match: get /b, tenant: acme}\n")
	_, _, err := tidelock(t, "config", "check")
	for _, want := range []string{
		`tidelock.yaml:5: lambda.routes.0.script: tenant acme has no script "missing"`, `tidelock.yaml:6: lambda.routes.1.match: "get /b" matches nothing`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	inFolder(t, "lock: {max_lease: 2h}")
	out, code, err := tidelock(t, "config", "check")
	if want := "warning: tidelock.yaml:1: lock.max_lease: 2h0m0s is more than any run may take"; code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d, %v: %s; want %s", code, err, out, want)
	}
}
