package main

import (
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// What a function doesn't need costs every cold start.
func TestDependenciesHaveNeitherSQLiteNorACommandLine(t *testing.T) {
	list := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	heavy := []string{"modernc.org/", "github.com/spf13/", "github.com/peterh/liner", "github.com/vbauerster/mpb", "net/rpc"}
	deps := list(".")
	for _, path := range heavy {
		if strings.Contains(deps, path) {
			t.Errorf("it depends on %s", path)
		}
	}
	if embedded := list("-tags", "embedded", "."); !strings.Contains(embedded, "modernc.org/sqlite") {
		t.Error("with -tags embedded it has no SQLite")
	}
}

func TestLogLevelOfThePlatformCountsMore(t *testing.T) {
	for _, test := range []struct {
		platform, configured string
		want                 string
	}{
		{"", "warn", "warn"}, {"", "", "debug"}, {"TRACE", "error", "debug"}, {"DEBUG", "error", "debug"}, {"INFO", "error", "info"},
		{"warn", "debug", "warn"}, {"ERROR", "debug", "error"}, {"FATAL", "debug", "fatal"}, {"loud", "error", "error"},
	} {
		if got := lowest(test.platform, test.configured); got.String() != test.want {
			t.Errorf("%q over %q: got %v, want %s", test.platform, test.configured, got, test.want)
		}
	}
	if !newLog("info").Core().Enabled(zap.InfoLevel) || newLog("warn").Core().Enabled(zap.InfoLevel) {
		t.Error("the configured level doesn't count")
	}
}
