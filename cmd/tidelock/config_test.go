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
