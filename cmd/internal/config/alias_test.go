package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAliasSetsTheCurrentKeyAndWarns(t *testing.T) {
	const file = `
task:
  running: 7
  tenant_running: 6
  script_running: 5
tenants:
  acme:
    running: 4
    script_running: 3
`
	fileWarnings := []string{
		"tidelock.yaml:3: task.running is deprecated: use task.max_concurrency",
		"tidelock.yaml:4: task.tenant_running is deprecated: use task.tenant_max_concurrency",
		"tidelock.yaml:5: task.script_running is deprecated: use task.script_max_concurrency",
		"tidelock.yaml:8: tenants.acme.running is deprecated: use tenants.acme.max_concurrency",
		"tidelock.yaml:9: tenants.acme.script_running is deprecated: use tenants.acme.script_max_concurrency",
	}
	environ := []string{
		"TIDELOCK_TASK__RUNNING=7", "TIDELOCK_TASK__TENANT_RUNNING=6", "TIDELOCK_TASK__SCRIPT_RUNNING=5",
		"TIDELOCK_TENANTS__ACME__RUNNING=4", "TIDELOCK_TENANTS__ACME__SCRIPT_RUNNING=3",
	}
	environWarnings := []string{
		"TIDELOCK_TASK__RUNNING: task.running is deprecated: use task.max_concurrency",
		"TIDELOCK_TASK__SCRIPT_RUNNING: task.script_running is deprecated: use task.script_max_concurrency",
		"TIDELOCK_TASK__TENANT_RUNNING: task.tenant_running is deprecated: use task.tenant_max_concurrency",
		"TIDELOCK_TENANTS__ACME__RUNNING: tenants.acme.running is deprecated: use tenants.acme.max_concurrency",
		"TIDELOCK_TENANTS__ACME__SCRIPT_RUNNING: tenants.acme.script_running is deprecated: use tenants.acme.script_max_concurrency",
	}
	flags := []Flag{
		{"task.running", "--running", "7"}, {"task.tenant_running", "--tenant-running", "6"}, {"task.script_running", "--script-running", "5"},
		{"tenants.acme.running", "--acme-running", "4"}, {"tenants.acme.script_running", "--acme-script-running", "3"},
	}
	flagWarnings := []string{
		"--running: task.running is deprecated: use task.max_concurrency",
		"--tenant-running: task.tenant_running is deprecated: use task.tenant_max_concurrency",
		"--script-running: task.script_running is deprecated: use task.script_max_concurrency",
		"--acme-running: tenants.acme.running is deprecated: use tenants.acme.max_concurrency",
		"--acme-script-running: tenants.acme.script_running is deprecated: use tenants.acme.script_max_concurrency",
	}
	for _, test := range []struct {
		name, text string
		environ    []string
		flags      []Flag
		warnings   []string
	}{
		{"file", file, nil, nil, fileWarnings},
		{"environment", "", environ, nil, environWarnings},
		{"flags", "", nil, flags, flagWarnings},
		{"a value of each source", file, environ, flags, slices.Concat(fileWarnings, environWarnings, flagWarnings)},
		{"current names", strings.ReplaceAll(file, "running", "max_concurrency"), nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := load(t, test.text, test.environ, test.flags...)
			if err != nil {
				t.Fatal(err)
			}
			acme := c.Tenants["acme"]
			got := []Count{c.Task.MaxConcurrency, c.Task.TenantMaxConcurrency, c.Task.ScriptMaxConcurrency, acme.MaxConcurrency, acme.ScriptMaxConcurrency}
			if want := []Count{7, 6, 5, 4, 3}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			warnings, want := slices.Sorted(slices.Values(c.Warnings())), slices.Sorted(slices.Values(test.warnings))
			if !slices.Equal(warnings, want) {
				t.Errorf("got warnings\n%s\nwant\n%s", strings.Join(warnings, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestAliasValueCountsAsItsSourceDoes(t *testing.T) {
	c, err := load(t, "task: {running: 7}", []string{"TIDELOCK_TASK__RUNNING=8"})
	if err != nil {
		t.Fatal(err)
	}
	want := Value{"task.max_concurrency", "8", "TIDELOCK_TASK__RUNNING"}
	if c.Task.MaxConcurrency != 8 || !slices.Contains(c.Values(), want) {
		t.Errorf("got %d of %v, want %v", c.Task.MaxConcurrency, c.Values(), want)
	}
}

func TestAliasErrors(t *testing.T) {
	for _, test := range []struct {
		name, text string
		environ    []string
		want       string
	}{
		{"both in one file", "task:\n  running: 7\n  max_concurrency: 8", nil,
			"tidelock.yaml:2: task.running: sets the same value as task.max_concurrency (tidelock.yaml:3): remove the deprecated name"},
		{"both of a tenant", "tenants:\n  acme:\n    script_max_concurrency: 8\n    script_running: 8", nil,
			"tidelock.yaml:4: tenants.acme.script_running: sets the same value as tenants.acme.script_max_concurrency (tidelock.yaml:3)"},
		{"old in the file", "task:\n  running: 7", []string{"TIDELOCK_TASK__MAX_CONCURRENCY=8"},
			"TIDELOCK_TASK__MAX_CONCURRENCY: task.max_concurrency: sets the same value as task.running (tidelock.yaml:2)"},
		{"old in the environment", "task:\n  max_concurrency: 7", []string{"TIDELOCK_TASK__RUNNING=8"},
			"TIDELOCK_TASK__RUNNING: task.running: sets the same value as task.max_concurrency (tidelock.yaml:2)"},
		{"a bad value", "task:\n  running: 0", nil, "tidelock.yaml:2: task.running: got 0, want a whole number"},
		{"an old name elsewhere", "running: 1", nil, "tidelock.yaml:1: running: unknown key"},
	} {
		if _, err := load(t, test.text, test.environ); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	c, err := load(t, "task:\n  running:\n  max_concurrency: 8", nil)
	if err != nil || c.Task.MaxConcurrency != 8 || len(c.Warnings()) != 0 {
		t.Errorf("an old name without a value: got %+v, %v", c, err)
	}
}
